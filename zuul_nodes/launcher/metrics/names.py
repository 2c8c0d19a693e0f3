"""All metrics of launchers: their names in statsd and in Prometheus.

The fixed parts of a name in statsd make the name in Prometheus, and the parts
in angle brackets are labels there.  The reference in the documentation is made
of the groups here.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import functools
import re

PLACEHOLDER = re.compile(r'<(\w+)>')
# What a name in Prometheus ends in, by the kind of the metric.  A gauge and a
# counter may have the same name in statsd.
SUFFIXES = {'gauge': '', 'counter': '_events_total', 'timer': '_seconds'}
# Seconds after which a gauge that has not been reported again is gone, as that
# of a provider is that no tenant has any more: four intervals of the gauges,
# and many rounds of the clean-up.
LIFETIME = 120
CLEANUP_LIFETIME = 1800


@dataclasses.dataclass(frozen=True)
class Metric:
    """
    :ivar name: in statsd, with placeholders.
    :ivar kind: "gauge", "counter" or "timer".
    :ivar text: what it tells, for the reference, as reStructuredText.
    :ivar lifetime: seconds after which its value is gone; None if it stays.
    """
    name: str
    kind: str
    text: str
    lifetime: int | None = None

    @property
    def labels(self) -> list[str]:
        return PLACEHOLDER.findall(self.name)

    @property
    def prometheus_name(self) -> str:
        return '_'.join(
            part for part in self.name.split('.')
            if not PLACEHOLDER.fullmatch(part)) + SUFFIXES[self.kind]

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """:return: matches its names; the groups are the labels' values."""
        return re.compile(r'([^.]+)'.join(
            map(re.escape, PLACEHOLDER.split(self.name)[::2])))


def find(name: str, kind: str) -> tuple[Metric, tuple[str, ...]] | None:
    """
    :param name: of something that is reported to statsd.
    :return: its metric and the values of its labels, or None.
    """
    for metric in METRICS:
        if metric.kind == kind and (
                match := metric.pattern.fullmatch(name)):
            return metric, match.groups()
    return None


def _make(kinds: str, texts: Mapping[str, str],
          lifetime: int | None = None) -> Iterator[Metric]:
    """
    :param kinds: of all of them, with spaces between.
    :param texts: name -> text.
    """
    for name, text in texts.items():
        for kind in kinds.split():
            yield Metric(name, kind, text, lifetime)


PROVIDER = 'zuul.provider.<provider>'
SERVER = 'zuul.launcher.server.<hostname>'
ENDPOINT = 'zuul.provider_endpoint.<endpoint>'
# What a launch counts for.
LAUNCHES = {
    'zuul.nodes': '',
    f'{PROVIDER}.nodes': ', for a provider',
    f'{PROVIDER}.az.<az>': ', for an availability zone of a provider',
    f'{PROVIDER}.label.<label>': ', for a label of a provider',
    f'{PROVIDER}.image.<image>': ', for an image of a provider',
}
# Name of a group -> its metrics.
GROUPS = {
    'system': (*_make('gauge', {
        'zuul.nodes.state.<state>': 'Number of nodes in a state.',
        f'{PROVIDER}.nodes.state.<state>': 'The same for a provider.',
        f'{PROVIDER}.label.<label>.nodes.state.<state>':
            'The same for a label at a provider.',
        f'{PROVIDER}.limit.<resource>':
            'The limit of a resource, such as ``cores``: the lowest of cloud, '
            'section and provider.',
        f'{PROVIDER}.usage.<resource>':
            'What the nodes of the provider use of a resource.',
        'zuul.label.<label>.max_nodes': '``max-nodes`` of a label.',
        'zuul.nodeset_requests.state.<state>':
            'Number of requests in a state.',
        'zuul.image.<image>.upload.<endpoint>.state.<state>':
            'Number of uploads of an image at an endpoint in a state.',
        'zuul.uploads.state.<state>': 'Number of uploads in a state.',
        'zuul.images.unneeded':
            'Number of builds and uploads of images that no provider has any '
            'more, and that launchers delete after '
            ':zuul:attr:`launcher.unneeded_image_delay`.',
        'zuul.images.left_files.<cause>':
            'Number of image files that ``zuul-nodes images leaks`` lists, as '
            'jobs have ``failed`` to delete them, or there is ``no-job``.',
    }, LIFETIME),),
    'launcher': (*_make('gauge', {
        f'{SERVER}.work_queue': 'Number of keys waiting to be processed.',
        f'{SERVER}.queue_age':
            'Seconds since the oldest event whose object has not been '
            'processed yet.',
        f'{SERVER}.planner_lag':
            'The same for requests, or seconds for which the planner has been '
            'busy, whichever is more.',
        f'{SERVER}.stuck_pools':
            'Number of endpoints where no call has returned since one '
            'exceeded ``call_timeout``.',
        f'{SERVER}.withdrawals':
            'Number of endpoints at which the launcher cannot log in.  It '
            'leaves its share there to other launchers, if they can.',
        f'{SERVER}.endpoint_calls':
            'Number of calls to clouds that run or wait for a thread.',
        f'{SERVER}.waiting_requests': 'Number of requests that wait.',
        f'{SERVER}.waiting.<reason>':
            'Number of requests that wait for one reason: ``launching`` nodes '
            'that several requests share, ``preparing`` a provider, '
            '``behind`` another request, ``no-free-node`` of static ones, '
            '``quota`` of a provider, ``max-nodes``, ``tenant-limit``, '
            '``unknown-quota``, ``paused``, ``no-image``, ``no-launcher``, '
            '``unreadable`` configuration, ``gave-up`` after failures, or '
            '``other``.',
    }, LIFETIME),),
    'changes': (*_make('gauge', {
        f'{SERVER}.upload_workers':
            'Number of builds whose images the launcher downloads or uploads '
            'now.',
        f'{SERVER}.endpoint_upload_workers':
            'Number of uploads that run now.',
        f'{SERVER}.endpoint_import_workers':
            'Number of imports that run now.',
    }),),
    'leaks': (
        *_make('gauge', {
            f'{ENDPOINT}.leaked.<type>':
                'Gauge: number of resources of a type, such as ``instance``, '
                'that no record needs and that the endpoint still has.',
            f'{ENDPOINT}.unmanaged.<type>':
                'Number of resources of a type that do not belong to this '
                'Zuul.',
        }, CLEANUP_LIFETIME),
        *_make('counter', {
            f'{ENDPOINT}.leaked.<type>':
                'Counter: number of those that the launcher has deleted.',
        }),
    ),
    'events': (
        *_make('counter timer', {
            'zuul.nodeset_requests.end.<tenant>.<result>':
                'A request of a tenant has ended: ``fulfilled`` or '
                '``failed``.  The time is that since Zuul made the request.',
            **{f'{key}.launch.<result>':
                f'A launch has ended{what}.  The result is the state of the '
                'node.' for key, what in LAUNCHES.items()},
            **{f'{key}.launch.error.<kind>':
                f'A launch has failed{what}: ``capacity``, ``keyscan``, '
                '``network``, ``quota``, ``ssh``, ``status``, ``temporary``, '
                '``unknown`` and others.' for key, what in LAUNCHES.items()},
        }),
        *_make('counter', {
            f'{PROVIDER}.nodes.delete.<result>':
                'The record of a node is removed: the node is ``deleted``, or '
                '``left`` if the cloud may still have it.',
        }),
        *_make('timer', {
            f'{PROVIDER}.label.<label>.phase.<phase>':
                'Part of a launch that has succeeded: ``waiting`` from the '
                'request to the first call to the cloud, ``creating`` until '
                'the instance is ready, and ``scanning`` until its host keys '
                'are known.',
            'zuul.image.<image>.upload.<endpoint>.duration':
                'Duration of an upload.',
            'zuul.launcher.run_handler':
                'Time that a worker has spent on a key.',
            'zuul.nodes.driver.<driver>.<connection>.<method>.<outcome>':
                'Time of a call to a cloud, by drivers that are made with '
                '``zuul_nodes.drivers``.  The outcome is ``success`` or '
                '``error``.',
        }),
    ),
}
METRICS = tuple(metric for group in GROUPS.values() for metric in group)
