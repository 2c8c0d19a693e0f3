"""What a launcher tells statsd, under the names that Zuul's has.

What is true of the whole system is told by one launcher, elected among
all of them, Zuul's own included.  What is true of one launcher it tells
by itself.  Nothing here may hurt anything else: what can't be told is
logged and left out.
"""

import collections
import contextlib
import logging
import math
import threading

from zuul.exceptions import QuotaException
from zuul.launcher.server import LauncherStatsElection
from zuul.lib.statsd import normalize_statsd_name
from zuul.model import (
    ImageUpload,
    NodesetRequest,
    ProviderNode,
    QuotaInformation,
)

from zuul_nodes.launcher.providers import getSectionLimits, makeQuota

# The client fills in the launcher's name.
SERVER = 'zuul.launcher.server.{hostname}'
# Parts of the launcher that may have a method ``length()`` -> the gauge
# that says how much waits there.
LENGTHS = {
    'queue': f'{SERVER}.work_queue',
    'pools': f'{SERVER}.endpoint_calls',
    'planner': f'{SERVER}.waiting_requests',
}
# Seconds that the end of the threads is waited for.
PATIENCE = 10


def makeSafe(name):
    """:return: a name as it can be a part of a metric's."""
    # Braces are where the client would fill something in.
    return normalize_statsd_name(str(name)).translate(
        str.maketrans('/{}', '___'))


def getErrorKey(error):
    """
    :param error: an exception, or a word for its kind.
    :return: what the failure is called, as Nodepool called it.
    """
    if isinstance(error, str):
        return f'error.{makeSafe(error)}'
    if isinstance(error, QuotaException):
        return 'error.quota'
    return getattr(error, 'statsd_key', 'error.unknown')


class Stats:
    """
    :param Launcher launcher: whose ``statsd`` is a client, or None.
    :param float interval: seconds between reports; may be changed.
    """

    log = logging.getLogger('zuul.nodes.metrics')

    def __init__(self, launcher, interval=30.0):
        self.launcher = launcher
        self.interval = interval
        self._stop_event = threading.Event()
        self._threads = []
        self._election = None
        # Provider -> resources that have been in use.
        self._used = collections.defaultdict(set)

    @property
    def statsd(self):
        return self.launcher.statsd

    def start(self):
        if not self.statsd:
            # Somebody else has to be elected.
            return
        self._election = LauncherStatsElection(self.launcher.zk_client)
        for target in (self._runElection, self._runOwn):
            thread = threading.Thread(
                target=target, name='LauncherStats', daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self):
        self._stop_event.set()
        if self._election:
            self._election.cancel()

    def join(self):
        for thread in self._threads:
            # Without a connection, an election does not end.
            thread.join(PATIENCE)

    def report(self):
        """Tell once what is true of the whole system."""
        if not self.statsd:
            return
        for getGauges in (self._getNodeGauges, self._getRequestGauges,
                          self._getUploadGauges):
            try:
                # Thousands of gauges, but not as many packets.
                with self.statsd.pipeline() as pipeline:
                    for key, value in getGauges():
                        if math.isfinite(value):
                            pipeline.gauge(key, value)
            except Exception:
                self.log.exception('Unable to report all statistics:')

    def reportOwn(self):
        """Tell once what is true of this launcher."""
        if not self.statsd:
            return
        for name, key in LENGTHS.items():
            part = getattr(self.launcher, name, None)
            if hasattr(part, 'length'):
                try:
                    self.statsd.gauge(key, part.length())
                except Exception:
                    self.log.exception('Unable to report %s:', key)

    def reportLaunch(self, node, provider, error=None):
        """Tell how a launch has ended, and how long it took.

        :param ProviderNode node: in the state that it has come to.
        :param BaseProvider provider: that made it, or None.
        :param error: why it failed, if it did: an exception or a word.
        """
        if not self.statsd:
            return
        try:
            results = [f'{node.state}']
            if error is not None:
                results.append(getErrorKey(error))
            duration = _getDuration(node)
            for key in _getLaunchKeys(node, provider):
                for result in results:
                    self.statsd.incr(f'{key}.{result}')
                    if duration is not None:
                        self.statsd.timing(f'{key}.{result}', duration * 1000)
        except Exception:
            self.log.exception('Unable to report the launch of %s:', node)

    def reportHandler(self, duration):
        """Tell how long the work queue was occupied with a key.

        :param float duration: in seconds.
        """
        if self.statsd:
            self.statsd.timing('zuul.launcher.run_handler', duration * 1000)

    def timeUpload(self, upload):
        """:return: a context manager around what a cloud does with an
            upload."""
        if not self.statsd:
            return contextlib.nullcontext()
        image, endpoint = map(
            makeSafe, (upload.canonical_name, upload.endpoint_name))
        return self.statsd.timer(
            f'zuul.image.{image}.upload.{endpoint}.duration')

    def _runElection(self):
        while not self._stop_event.is_set():
            try:
                self._election.run(self._runElected)
            except Exception:
                self.log.exception('Error in the election for statistics:')
                self._stop_event.wait(self.interval)

    def _runElected(self):
        while not self._stop_event.wait(self.interval):
            if not self._election.is_still_valid():
                return
            self.report()

    def _runOwn(self):
        while not self._stop_event.wait(self.interval):
            self.reportOwn()

    def _getNodeGauges(self):
        states = collections.Counter()
        usage = collections.defaultdict(QuotaInformation)
        for node in self.launcher.api.getProviderNodes():
            for key in ((), (node.provider,), (node.provider, node.label)):
                states[*key, node.state] += 1
            # A record may say anything.
            with contextlib.suppress(TypeError):
                if node.state in ProviderNode.ALLOCATED_STATES:
                    usage[node.provider].add(node.quota)
        yield from _getStateGauges('zuul', states, ())
        max_nodes = {}
        for name, providers in self._getProviders().items():
            key = f'zuul.provider.{makeSafe(name)}'
            labels = {label.name: label for provider in providers
                      for label in provider.labels.values()}
            yield from self._getQuotaGauges(key, providers[0], usage[name])
            yield from _getStateGauges(key, states, (name,))
            for label in labels.values():
                yield from _getStateGauges(
                    f'{key}.label.{makeSafe(label.name)}', states,
                    (name, label.name))
                if label.max_nodes is not None:
                    max_nodes[label.canonical_name] = label.max_nodes
        for name, value in max_nodes.items():
            yield f'zuul.label.{makeSafe(name)}.max_nodes', value

    def _getProviders(self):
        """:return: canonical name -> the tenants' objects."""
        found = collections.defaultdict(list)
        for providers in list(self.launcher.tenant_providers.values()):
            for provider in providers:
                found[provider.canonical_name].append(provider)
        return found

    def _getQuotaGauges(self, key, provider, usage):
        try:
            limits = provider.getEndpointLimits().copy()
            limits.min(makeQuota(provider.resource_limits))
            limits.min(makeQuota(getSectionLimits(provider)))
        except Exception:
            # What is a driver's fault stays with its provider.
            self.log.exception('Unable to get the limits of %s:', provider)
        else:
            for resource, value in limits.getResources().items():
                yield f'{key}.limit.{makeSafe(resource)}', value
        # What is used no more has to be said, too.
        used = self._used[provider.canonical_name]
        used.update(usage.getResources())
        for resource in used:
            yield (f'{key}.usage.{makeSafe(resource)}',
                   usage.quota.get(resource, 0))

    def _getRequestGauges(self):
        states = collections.Counter(
            request.state
            for request in self.launcher.api.requests_cache.getItems()
            if request.state != NodesetRequest.State.TEST_HOLD)
        for state in NodesetRequest.State:
            yield f'zuul.nodeset_requests.state.{state}', states[state]

    def _getUploadGauges(self):
        states = collections.defaultdict(collections.Counter)
        for upload in self.launcher.image_upload_registry.getItems():
            states[upload.canonical_name, upload.endpoint_name][
                upload.state] += 1
        for names, counter in states.items():
            image, endpoint = map(makeSafe, names)
            for state in ImageUpload.STATES:
                yield (f'zuul.image.{image}.upload.{endpoint}.state.{state}',
                       counter[state])
        total = sum(states.values(), collections.Counter())
        for state in ImageUpload.STATES:
            yield f'zuul.uploads.state.{state}', total[state]


def _getStateGauges(key, states, selection):
    for state in ProviderNode.State:
        yield f'{key}.nodes.state.{state}', states[*selection, state]


def _getDuration(node):
    """:return: seconds that the launch took, or None if not known."""
    # Who has taken the node over has no state machine of it yet.
    start_time = (node.create_state_machine.start_time
                  if node.create_state_machine
                  else node.create_state.get('start_time'))
    return None if start_time is None else node.state_time - start_time


def _getLaunchKeys(node, provider):
    yield 'zuul.nodes.launch'
    if provider is None:
        return
    key = f'zuul.provider.{makeSafe(provider.canonical_name)}'
    yield f'{key}.nodes.launch'
    if node.az:
        yield f'{key}.az.{makeSafe(node.az)}.launch'
    if label := provider.labels.get(node.label):
        yield f'{key}.label.{makeSafe(label.name)}.launch'
        if image := provider.images.get(label.image):
            yield f'{key}.image.{makeSafe(image.name)}.launch'
