"""All metrics of launchers: their names in statsd and in Prometheus.

The fixed parts of a name in statsd make the name in Prometheus, and the parts
in angle brackets are labels there.
"""

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
    :ivar lifetime: seconds after which its value is gone; None if it stays.
    """
    name: str
    kind: str
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


PROVIDER = 'zuul.provider.<provider>'
SERVER = 'zuul.launcher.server.<hostname>'
ENDPOINT = 'zuul.provider_endpoint.<endpoint>'
LAUNCHES = ('zuul.nodes', f'{PROVIDER}.nodes', f'{PROVIDER}.az.<az>',
            f'{PROVIDER}.label.<label>', f'{PROVIDER}.image.<image>')
METRICS = (
    *(Metric(name, 'gauge', LIFETIME) for name in (
        'zuul.nodes.state.<state>',
        f'{PROVIDER}.nodes.state.<state>',
        f'{PROVIDER}.label.<label>.nodes.state.<state>',
        f'{PROVIDER}.limit.<resource>',
        f'{PROVIDER}.usage.<resource>',
        'zuul.label.<label>.max_nodes',
        'zuul.nodeset_requests.state.<state>',
        'zuul.image.<image>.upload.<endpoint>.state.<state>',
        'zuul.uploads.state.<state>',
        *(f'{SERVER}.{name}' for name in (
            'work_queue', 'queue_age', 'planner_lag', 'stuck_pools',
            'endpoint_calls', 'waiting_requests', 'waiting.<reason>')))),
    # Launchers report these when they change.
    *(Metric(f'{SERVER}.{name}', 'gauge') for name in (
        'upload_workers', 'endpoint_upload_workers',
        'endpoint_import_workers')),
    *(Metric(f'{ENDPOINT}.{name}.<type>', 'gauge', CLEANUP_LIFETIME)
      for name in ('leaked', 'unmanaged')),
    Metric(f'{ENDPOINT}.leaked.<type>', 'counter'),
    *(Metric(f'{key}.launch.{result}', kind) for key in LAUNCHES
      for result in ('<result>', 'error.<kind>')
      for kind in ('counter', 'timer')),
    Metric(f'{PROVIDER}.label.<label>.phase.<phase>', 'timer'),
    Metric(f'{PROVIDER}.nodes.delete.<result>', 'counter'),
    *(Metric('zuul.nodeset_requests.end.<tenant>.<result>', kind)
      for kind in ('counter', 'timer')),
    Metric('zuul.image.<image>.upload.<endpoint>.duration', 'timer'),
    Metric('zuul.launcher.run_handler', 'timer'),
    Metric('zuul.nodes.driver.<driver>.<connection>.<method>.<outcome>',
           'timer'),
)
