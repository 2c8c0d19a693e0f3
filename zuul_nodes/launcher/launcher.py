"""The launcher component: creates the parts and gives each what it needs.

It runs inside the scheduler or as a separate process.  What a process has once
(a command socket, a monitoring server, the export of traces) belongs to the
scheduler or to :mod:`zuul_nodes.launcher.daemon`.
"""

import functools
import logging
import secrets
import socket
import threading
import time

from zuul.lib.statsd import get_statsd
from zuul.version import get_version_string
from zuul.zk.components import COMPONENT_REGISTRY, LauncherComponent
from zuul.zk.event_queues import (
    PipelineResultEventQueue,
    TenantTriggerEventQueue,
)
from zuul.zk.system import ZuulSystem

from zuul_nodes import providerstatus, tenantlimits, waits, withdrawals
from zuul_nodes.imagepipelines import ImagePipelines
from zuul_nodes.launcher import (
    changes,
    endpoints,
    images,
    metrics,
    nodes,
    planner,
    providers,
    requests,
)
from zuul_nodes.launcher.election import Election
from zuul_nodes.launcher.notes import Notes
from zuul_nodes.launcher.readiness import Readiness
from zuul_nodes.launcher.recordevents import RecordEvents
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers import Backoff, EndpointPools, WorkQueue
from zuul_nodes.launcher.zookeeper import (
    Disconnect,
    ImprovedClient,
    Orders,
    PlannerRecords,
    Records,
    Session,
)


class Launcher:
    """A launcher: creates its parts, starts and stops them.

    :param ConfigParser config: zuul.conf
    :param ConnectionRegistry connections: the launcher's own connections;
        they are stopped with it.
    :param bool is_embedded: whether it runs in a scheduler.
    :param str _hostname: its name in the component registry, for tests.
    :raises UserError: zuul.conf has an invalid setting.
    """

    log = logging.getLogger('zuul.nodes.launcher')

    def __init__(self, config, connections, *, is_embedded=True,
                 _hostname=None):
        self.is_embedded = is_embedded
        self.settings = Settings.read(config)
        self.connections = connections
        self.hostname = _hostname or makeName()
        self.stop_event = threading.Event()
        # Is set when the launcher no longer needs ZooKeeper.
        self.join_event = threading.Event()
        self.own_temp_directory = images.TempDirectory(
            self.settings.temp_dir, self.hostname)
        machine = _hostname or socket.getfqdn()
        self.statsd = get_statsd(config, {'hostname': machine})
        self.exporter = metrics.makeExporter(config, is_embedded, machine)
        if self.exporter:
            self.statsd = metrics.Client(self.statsd, self.exporter)
        providers.prepareDrivers(connections, self.settings, self.statsd)
        self._connect(config)
        self._makeCommonParts()
        self._makePlanner()
        self._makeRecords()
        self._makeNodeParts()
        self._makeRequestParts()
        self._makeEndpointParts()
        self._makeImageParts()
        self._makeHandlers()
        self.readiness = Readiness(
            self.component_info, self.election, self.queue, self.planner,
            self.pools, self.settings)

    def _connect(self, config):
        self.zk_client = ImprovedClient.fromConfig(config)
        self.zk_client.connect()
        self.disconnect = Disconnect(self.zk_client)
        self.system = ZuulSystem(self.zk_client)
        self.trigger_events = TenantTriggerEventQueue.createRegistry(
            self.zk_client, self.connections)
        self.result_events = PipelineResultEventQueue.createRegistry(
            self.zk_client)
        COMPONENT_REGISTRY.create(self.zk_client)
        self.component_info = LauncherComponent(
            self.zk_client, self.hostname, version=get_version_string(),
            connection_filter=list(self.settings.connection_filter) or None)
        withdrawals.note(self.component_info, {})
        self.component_info.register()

    # The parts, from the lowest layer to the highest

    def _makeCommonParts(self):
        self.queue = WorkQueue(
            self.work, Backoff(self.settings.first_backoff,
                               self.settings.longest_backoff),
            self.settings.workers)
        self.ownership = providers.Ownership(
            COMPONENT_REGISTRY.registry, self.component_info)
        self.session = Session(
            self.zk_client, self.hostname, self.join_event)
        self.isGiven = functools.partial(
            providers.isGivenAt, self.connections)
        self.stats = metrics.Stats(self.statsd)
        self.image_schedule = images.Schedule(self.queue, self.settings)
        self.image_records = images.ImageRecords(
            self.session, self.image_schedule.checkSoon)
        self.node_images = images.NodeImages(
            self.image_records,
            self._isImageUnderWay,
            self.settings.image_timeout)
        self.pools = EndpointPools(
            self.settings,
            lambda name, delay: self.queue.addAfter(('pool', name), delay),
            self.image_schedule.checkSoon, self.session.isCertain,
            self._noteCallError)

    def _makePlanner(self):
        self.min_ready_state = nodes.MinReadyState(self.queue, self.settings)
        self.answers = endpoints.Answers()
        self.planner = planner.Planner(
            lambda request_id: self.queue.add(('request', request_id)),
            planner.Surroundings(
                self.node_images.canUse, self.node_images.hasImage,
                self.ownership.isHandled, self._serves, self.answers.isAsked,
                self.answers.getProblem, self.isGiven,
                self.settings.tenant_limits.get),
            self.min_ready_state.queueCheck,
            lambda host: self.queue.add(('name', host)),
            limits_lifetime=self.settings.limits_lifetime)
        self.supply = planner.Supply(
            self.planner, self.queue, Backoff(
                self.settings.provider_first_backoff,
                self.settings.provider_longest_backoff),
            self.min_ready_state.queueCheck,
            {providers.Failure.CAPACITY: self.settings.capacity_timeout,
             providers.Failure.TEMPORARY:
                 self.settings.unreachable_timeout},
            self.settings.capacity_errors,
            lambda: self.queue.addAfter(
                endpoints.STATUSES, self.settings.status_delay))
        self.lookups = providers.Lookups()
        self.names = providers.Names(
            self.lookups, self.planner, self.queue,
            self.settings.name_interval)
        self.former_providers = providers.FormerProviders(
            self.zk_client, self.connections, self.system.system_id)
        self.layouts = providers.Layouts(
            self.session, self.connections, self.system.system_id,
            lambda: self.queue.add(changes.LAYOUT),
            self.former_providers.find, self.planner.setScope)
        self.endpoints = providers.HandledEndpoints(
            self.layouts, self.ownership)
        self.logins = endpoints.Logins(
            self.component_info, self.queue, self.pools, self.endpoints,
            self.settings)

    # Parts that exist already when these are called

    def _serves(self, provider):
        return self.endpoints.serves(provider)

    def _noteCallError(self, endpoint, error):
        self.logins.noteError(endpoint, error)

    def _makeRecords(self):
        self.node_index = nodes.NodeIndex()
        self.capacity_waits = nodes.CapacityWaits()
        self.record_events = RecordEvents(
            self.queue, self.planner, self.supply, self.min_ready_state,
            self.node_index, self.capacity_waits, self.layouts)
        # The caches report records while the constructor reads them.
        self.api = Records(
            self.zk_client, COMPONENT_REGISTRY.registry, self.component_info,
            self.record_events.noteRecord, self.session.own_writes,
            self.component_info.connection_filter)
        self.orders = Orders(self.zk_client, self.record_events.noteOrder)
        self.rescan = changes.Rescan(
            self.queue, self.api, self.endpoints, self.min_ready_state,
            functools.partial(
                providers.shareRates, self.connections, self.ownership))
        self.election = Election(
            self.zk_client, self.ownership, self.is_embedded, self.queue,
            self._takeOver, self.rescan.begin)
        self.notes = Notes(
            self.orders, self.election, self.queue, self.session)
        self.request_records = requests.RequestRecords(
            self.api, self.session, self.queue, self.ownership, self.election,
            self.orders)
        self.node_records = nodes.NodeRecords(
            self.api, self.session, self.queue, self.ownership, self.election,
            self.node_index, self.orders)
        # This closes the loop: a change of a record queues its object, and
        # reconciling the object may change records.
        self.session.written = self.record_events.noteWrite
        self.record_events.connect(
            self.api, self.request_records.remembers,
            self.request_records.unplanned)
        self.ownership_changes = changes.OwnershipChanges(
            self.ownership, self.queue, self.planner, self.rescan)
        self.layout_changes = changes.LayoutChanges(
            self.layouts, self.former_providers, self.queue, self.rescan,
            self.component_info, self.election, self.settings)
        self.gauges = metrics.Gauges(
            self.statsd, self.zk_client, self.api, self.image_records,
            self.layouts, {
                'work_queue': self.queue.length,
                'queue_age': self.queue.getAge,
                'planner_lag': self._getPlannerLag,
                'endpoint_calls': self.pools.length,
                'stuck_pools': self.pools.countStuck,
                'withdrawals': self.logins.count,
                'waiting_requests': self.planner.length,
                'waiting': self._countWaits})

    def _makeNodeParts(self):
        self.host_key_scanner = nodes.HostKeyScanner(
            lambda key, scan: self.queue.add(key),
            functools.partial(providers.checkAddress, self.connections),
            names=self.lookups, retry=self.settings.host_key_retry)
        self.liveness_check = nodes.LivenessCheck(
            self.node_records, self.host_key_scanner, self.settings)
        self.console_logs = nodes.ConsoleLogs(
            self.node_records, self.layouts, self.pools)
        self.new_records = nodes.NewRecords(
            self.layouts, self.ownership, self.system.system_id, self.settings)
        self.static_nodes = nodes.StaticNodes(
            self.node_records, self.layouts, self.new_records)
        self.reclaim = nodes.Reclaim(
            self.node_records, self.planner, self.layouts, self.settings)
        self.min_ready = nodes.MinReady(
            self.min_ready_state, self.node_records, self.planner,
            self.layouts, self.new_records, self.node_images.isReady,
            self.reclaim.noteDemand)
        self.drift = nodes.Drift(
            self.node_records, self.layouts, self.settings)
        self.snapshots = nodes.Snapshots(
            self.node_records, self.layouts, self.pools, self.endpoints,
            self.settings)
        self.state_machines = nodes.StateMachines(
            self.node_records, self.endpoints, self.pools,
            self.node_images.getExternalId, self.settings,
            self.logins.withdraw)
        self.node_steps = nodes.NodeSteps(
            self.node_records, self.state_machines, self.settings)
        self.request_ends = requests.RequestEnds(
            self.api, self.session, self.result_events, self.stats)
        host_keys = nodes.HostKeys(
            self.host_key_scanner, self.layouts, self.liveness_check)
        self.node_launch = nodes.NodeLaunch(
            self.node_records, self.node_steps, self.layouts,
            nodes.LaunchStart(self.node_records, self.planner,
                              self.capacity_waits, self.settings),
            host_keys, nodes.LaunchOutcomes(
                self.node_records, self.node_steps, self.layouts,
                self.console_logs, self.stats),
            self.request_ends.addFulfilled)
        self.termination = nodes.NodeTermination(
            self.node_records, self.node_steps, self.layouts,
            self.host_key_scanner, self.isGiven, self.stats, self.settings)
        self.node_reconciler = nodes.NodeReconciler(
            self.node_records, self.node_steps, self.node_launch,
            nodes.Reuse(self.node_records, self.layouts, host_keys,
                        self.reclaim),
            self.termination,
            nodes.Expiry(self.node_records, self.layouts, self.drift),
            self.snapshots)
        for part in (self.node_steps, self.termination, self.drift,
                     self.console_logs, self.liveness_check):
            self.node_records.addMemory(part.forget)
        self.node_records.addMemory(
            lambda node_id: self.host_key_scanner.cancel(('node', node_id)))

    def _makeRequestParts(self):
        grants = requests.GrantWriter(
            self.request_records, self.planner, self.new_records,
            self.request_ends, self.supply.noteFailure)
        self.request_waits = requests.RequestWaits(
            self.queue, self.planner,
            PlannerRecords(self.session, self.election, waits.ROOT),
            self._noteDemand, self.node_images.isUnderWay, self.settings)
        self.request_reconciler = requests.RequestReconciler(
            self.request_records, self.planner, self.layouts, grants,
            self.request_ends, self.request_waits, self.liveness_check)

    def _noteDemand(self):
        """A request waits: others' nodes may go, and what is reserved for it
        is recorded."""
        self.reclaim.noteDemand()
        self.queue.addAfter(endpoints.STATUSES, self.settings.status_delay)

    def _makeEndpointParts(self):
        self.endpoint_reconciler = endpoints.EndpointReconciler(
            endpoints.Turns(self.queue, self.pools, self.stop_event,
                            self.settings),
            self.layouts, self.endpoints, self.answers,
            endpoints.Cleanup(self.node_records, self.image_records.uploads,
                              self.system, self.statsd, self.settings),
            self.supply.noteLimits, self.settings)
        self.provider_statuses = endpoints.ProviderStatuses(
            self.queue, self.planner, PlannerRecords(
                self.session, self.election, providerstatus.ROOT),
            PlannerRecords(self.session, self.election, tenantlimits.ROOT),
            self.settings)
        self.other_endpoints = endpoints.OtherEndpoints(
            self.queue, self.layouts, self.endpoints, self.supply.noteLimits,
            self.settings)

    def _makeImageParts(self):
        common = self.image_records, self.image_schedule
        pipelines = ImagePipelines(self.layouts, self.image_schedule.checkSoon)
        jobs = self.image_jobs = images.ImageJobs(
            images.ImageEvents(
                self.session, self.image_schedule,
                self.connections.drivers['zuul'], self.trigger_events),
            pipelines,
            images.Tenants(self.layouts, pipelines, self.settings),
            images.EventTracker(self.zk_client.client,
                                self.image_schedule.checkSoon))
        validation = images.Validation(*common, jobs)
        uploads = images.Uploads(
            *common, self.layouts, self.own_temp_directory.path, self.stats,
            validation.addEvent, self.logins.leaves)
        deletion = images.Deletion(
            *common, self.layouts, self.pools,
            images.ArtifactDeletion(*common, jobs))
        self.images = images.Images(
            self.image_records,
            images.ImageBuilds(*common, self.layouts, jobs), validation,
            images.PendingUploads(
                *common, self.layouts, self.endpoints, uploads),
            images.Retention(
                *common, self.layouts, self.endpoints, jobs, deletion,
                self.api.nodes_cache))
        self.image_reconciler = images.ImageReconciler(
            self.layouts, images.Distribution(
                *common, self.layouts, self.endpoints),
            self.images, self.image_records.uploads, self.supply.noteImages)

    def _makeHandlers(self):
        self.handlers = {
            'request': self.request_reconciler.reconcile,
            'reasons': lambda _: self.request_reconciler.reconcileWaiting(),
            'node': self.node_reconciler.reconcile,
            'note': self.notes.reconcile,
            'liveness': self.liveness_check.reconcile,
            'name': self.names.reconcile,
            'static': self.static_nodes.reconcile,
            'gone': self.static_nodes.reconcileNode,
            'provider': self.supply.reconcile,
            'endpoint': self.endpoint_reconciler.reconcile,
            endpoints.LOGIN: self.logins.reconcile,
            'others': lambda _: self.other_endpoints.reconcile(),
            'statuses': lambda _: self.provider_statuses.reconcile(),
            'reclaim': lambda _: self.reclaim.reconcile(),
            'pool': self.pools.check,
            'lock': self.termination.removeLock,
            'layout': lambda _: self.layout_changes.reconcile(),
            'images': lambda _: self.image_reconciler.reconcile(),
            'minready': lambda _: self.min_ready.reconcile(),
            'ownership': lambda _: self.ownership_changes.reconcile(),
            'election': lambda _: self.election.reconcile(),
        }
        COMPONENT_REGISTRY.registry.registerCallback(
            self.ownership_changes.noteComponents)

    # Events

    def work(self, key):
        """Reconcile an object; this is the handler of the work queue."""
        kind, name = key
        begin = time.monotonic()
        self.handlers[kind](name)
        self.stats.reportHandler(time.monotonic() - begin)

    def _isImageUnderWay(self, kind, key):
        """:return: as :meth:`.ImageEvents.isUnderWay`."""
        return self.image_jobs.events.isUnderWay(kind, key)

    def _getPlannerLag(self):
        """:return: seconds since the first event of a request that is not
            processed yet, or since the planner is busy."""
        return max(self.queue.getAge('request'), self.planner.getSeconds())

    def _countWaits(self):
        return self.request_waits.count()

    def _takeOver(self, lead):
        """Plan in place of another launcher, if this one has read all that
        it wrote.

        :param lead: called when nothing is planned: it makes this launcher
            lead.
        :return: whether this launcher leads.
        """
        if not (self.api.nodes_cache.catchUp()
                and self.api.requests_cache.catchUp()):
            return False

        def getWaiting():
            lead()
            return self.request_reconciler.getWaiting()
        self.planner.planInOrder(getWaiting)
        return True

    # Start and stop

    def start(self):
        self.host_key_scanner.start()
        self.image_schedule.checkSoon()
        self.queue.start()
        if self.exporter:
            self.exporter.start()
        self.gauges.start()
        self.readiness.start()
        self.queue.add(changes.LAYOUT)

    def stop(self):
        """Stop all parts; other launchers take over the work that is left."""
        self.log.debug('Stopping launcher')
        self.disconnect.begin(self.settings.stop_timeout)
        self.readiness.stop(self.settings.stop_timeout)
        try:
            # Without a connection, the component disappears by itself.
            if self.zk_client.connected:
                self.election.leave()
                self.component_info.state = self.component_info.STOPPED
        except Exception:
            self.log.exception('Unable to set the state of the component:')
        COMPONENT_REGISTRY.registry.unregisterCallback(
            self.ownership_changes.noteComponents)
        self.stop_event.set()
        self.queue.stop()
        self.gauges.stop()
        if self.exporter:
            self.exporter.stop()
        self.images.stop()
        self.host_key_scanner.stop()
        self.pools.stop()
        # An endpoint that hangs in its start also hangs in its stop.
        stopping = threading.Thread(target=self.connections.stop, daemon=True)
        stopping.start()
        stopping.join(self.settings.stop_timeout)

    def join(self):
        """Wait until all parts have stopped.

        Some of them stop only after a time-out.
        """
        timeout = self.settings.stop_timeout
        # Without ZooKeeper, workers wait for it until they are told to stop.
        self.queue.join(2 * timeout)
        self.pools.join(timeout)
        self.gauges.join()
        self.images.join(timeout)
        self.host_key_scanner.join()
        self.join_event.set()
        for cache in (self.api, self.election, self.image_records,
                      self.orders):
            cache.stop()
        self.disconnect.end()
        self.own_temp_directory.remove()
        self.log.debug('Stopped launcher')


def makeName():
    """:return: a name that is unique among launchers.

    Ownership depends on the names, also for several launchers on one host.
    """
    return f'{socket.getfqdn()}-{secrets.token_hex(4)}'
