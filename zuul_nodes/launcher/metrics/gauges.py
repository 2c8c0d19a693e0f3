"""Gauges that a launcher sends to statsd at intervals, with Zuul's names.

One launcher reports the gauges of the whole system.  It is elected among all
launchers, including Zuul's own.  Every launcher reports its own gauges.
Metrics must not disturb anything else, so errors are logged and the gauge is
left out.
"""

import collections
import contextlib
import logging
import math
import threading

from zuul.launcher.server import LauncherStatsElection
from zuul.model import (
    ImageUpload,
    NodesetRequest,
    ProviderNode,
    QuotaInformation,
)

from zuul_nodes.launcher.metrics.stats import makeSafe
from zuul_nodes.launcher.providers import getSectionLimits, makeQuota

# The statsd client replaces the placeholder by the launcher's name.
SERVER = 'zuul.launcher.server.{hostname}'
# Seconds to wait for the threads when the launcher stops.
JOIN_TIMEOUT = 10


class Gauges:
    """Reports gauges to statsd at intervals.

    :param statsd: a client, or None.
    :param ZooKeeperClient zk_client: for the election.
    :param Records records: of all nodes and requests.
    :param ImageRecords images: has the cache of all uploads, and more gauges
        of the system.
    :param Layouts layouts: has the providers of all tenants.
    :param dict own: name of a gauge of this launcher -> a function that
        returns its value; or a dict, for several: last part of the name ->
        value.
    :param float interval: seconds between reports; may be changed.
    """

    log = logging.getLogger('zuul.nodes.metrics')

    def __init__(self, statsd, zk_client, records, images, layouts, own,
                 interval=30.0):
        self.statsd = statsd
        self.zk_client = zk_client
        self.records = records
        self.images = images
        self.layouts = layouts
        self.own = own
        self.interval = interval
        self._stop_event = threading.Event()
        self._threads = []
        self._election = None
        # Provider -> resources of which usage has been reported.
        self._used = collections.defaultdict(set)

    def start(self):
        if not self.statsd:
            # A launcher with statsd has to be elected.
            return
        self._election = LauncherStatsElection(self.zk_client)
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
            # Without a connection to ZooKeeper, an election does not end.
            thread.join(JOIN_TIMEOUT)

    def report(self):
        """Report the gauges of the whole system once."""
        if not self.statsd:
            return
        for getGauges in (self._getNodeGauges, self._getRequestGauges,
                          self._getUploadGauges, self._getImageGauges):
            try:
                # The pipeline puts many of the thousands of gauges in a
                # packet.
                with self.statsd.pipeline() as pipeline:
                    for key, value in getGauges():
                        if math.isfinite(value):
                            pipeline.gauge(key, value)
            except Exception:
                self.log.exception('Unable to report gauges of the system:')

    def reportOwn(self):
        """Report the gauges of this launcher once."""
        if not self.statsd:
            return
        for name, getValue in self.own.items():
            try:
                value = getValue()
                values = ({f'{name}.{part}': each
                           for part, each in value.items()}
                          if isinstance(value, dict) else {name: value})
                for key, each in values.items():
                    self.statsd.gauge(f'{SERVER}.{key}', each)
            except Exception:
                self.log.exception('Unable to report the gauge %s:', name)

    def _runElection(self):
        while not self._stop_event.is_set():
            try:
                self._election.run(self._runElected)
            except Exception:
                self.log.exception('Error in the election for metrics:')
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
        for node in self.records.getProviderNodes():
            for key in ((), (node.provider,), (node.provider, node.label)):
                states[*key, node.state] += 1
            # The quota in a record may have values of any type.
            with contextlib.suppress(TypeError):
                if node.state in ProviderNode.ALLOCATED_STATES:
                    usage[node.provider].add(node.quota)
        yield from _getStateGauges('zuul', states, ())
        max_nodes = {}
        for name, providers in self.layouts.scope.by_name.items():
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

    def _getQuotaGauges(self, key, provider, usage):
        try:
            limits = provider.getEndpointLimits().copy()
            limits.min(makeQuota(provider.resource_limits))
            limits.min(makeQuota(getSectionLimits(provider)))
        except Exception:
            # An error of one driver must not affect other providers.
            self.log.exception('Unable to get the limits of %s:', provider)
        else:
            for resource, value in limits.getResources().items():
                yield f'{key}.limit.{makeSafe(resource)}', value
        # Report a zero for resources that are no longer in use.
        used = self._used[provider.canonical_name]
        used.update(usage.getResources())
        for resource in used:
            yield (f'{key}.usage.{makeSafe(resource)}',
                   usage.quota.get(resource, 0))

    def _getRequestGauges(self):
        states = collections.Counter(
            request.state
            for request in self.records.requests_cache.getItems()
            if request.state != NodesetRequest.State.TEST_HOLD)
        for state in NodesetRequest.State:
            yield f'zuul.nodeset_requests.state.{state}', states[state]

    def _getUploadGauges(self):
        states = collections.defaultdict(collections.Counter)
        for upload in self.images.uploads.getItems():
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

    def _getImageGauges(self):
        return self.images.count().items()


def _getStateGauges(key, states, selection):
    for state in ProviderNode.State:
        yield f'{key}.nodes.state.{state}', states[*selection, state]
