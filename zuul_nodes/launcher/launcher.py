"""The launcher as a component: inside the scheduler, or on its own.

What belongs to a process rather than to the work (a command socket, a
monitoring server, the export of traces) is not here, for the process has
it already: the scheduler, or :mod:`zuul_nodes.launcher.daemon`.
"""

import collections
import logging
import secrets
import socket
import threading
import time

from kazoo.protocol.states import KazooState
from zuul.lib.config import get_default
import zuul.lib.repl
from zuul.lib.statsd import get_statsd
from zuul.version import get_version_string
from zuul.zk import ZooKeeperClient
from zuul.zk.components import COMPONENT_REGISTRY, LauncherComponent
from zuul.zk.event_queues import (
    PipelineResultEventQueue,
    TenantTriggerEventQueue,
)
from zuul.zk.system import ZuulSystem

from zuul_nodes.drivers import addresses, bounds
from zuul_nodes.imagefiles import SIZE_LIMIT
from zuul_nodes.imageremarks import Remarks
from zuul_nodes.launcher.endpoints import EndpointReconciler
from zuul_nodes.launcher.images import KEY as IMAGES
from zuul_nodes.launcher.images import (
    Distribution,
    Images,
    Steering,
    TempDirectory,
)
from zuul_nodes.launcher.metrics import Stats
from zuul_nodes.launcher.nodes import (
    ConsoleLogs,
    HostKeyScanner,
    LivenessCheck,
    MinReady,
    NewRecords,
    NodeReconciler,
    Reclaim,
    Snapshots,
    StateMachines,
    StaticNodes,
)
from zuul_nodes.launcher.planner import (
    Planner,
    PublishedReservations,
    withProblem,
)
from zuul_nodes.launcher.providers import (
    FormerProviders,
    Layouts,
    Lookups,
    Names,
    Ownership,
    isGivenAt,
)
from zuul_nodes.launcher.recordevents import RecordEvents
from zuul_nodes.launcher.requests import RequestReconciler
from zuul_nodes.launcher.workers import (
    EndpointPools,
    WorkQueue,
    getPause,
    takenInTurn,
)
from zuul_nodes.launcher.zookeeper import (
    Builds,
    Disconnect,
    Records,
    Session,
    Uploads,
    installSockets,
)

# Threads that look at what has changed; most of the time most of them wait
# for ZooKeeper to write something.
WORKERS = 8
# Time-outs are in seconds.
DEFAULTS = {'call_timeout': 600.0, 'unhandled_timeout': 600.0,
            'image_timeout': 21600.0, 'endpoint_workers': 8,
            # In bytes, and in a second.
            'image_size_limit': SIZE_LIMIT, 'image_minimum_rate': 64 << 10,
            'require_image_checksums': False}
# How long to wait at the end for drivers that have been called, and for
# ZooKeeper to come back.
STOP_TIMEOUT = 10.0
# Other launchers know what we have reserved after this time (seconds).
PUBLISH_INTERVAL = 0.5
# What other launchers have learned of the connections that we do not handle
# is looked at so often (seconds).
OTHERS_INTERVAL = 10.0
# A layout that can't be read is tried again after this time (seconds), and
# then each time after twice as long, this at the latest.  In most cases, a
# scheduler is about to be done with it.
FIRST_LAYOUT_PAUSE = 0.02
LONGEST_LAYOUT_PAUSE = 10.0

LAYOUT = ('layout', '')
DIVISION = ('division', '')
RESERVATIONS = ('reservations', '')
OTHERS = ('others', '')


class Launcher:
    """
    :param ConfigParser config: zuul.conf
    :param ConnectionRegistry connections: the launcher's own; stopped
        with it.
    :param str _hostname: its name in the component registry, for tests.
    """

    log = logging.getLogger('zuul.nodes.launcher')

    def __init__(self, config, connections, _hostname=None):
        self.config = config
        self.connections = connections
        self.hostname = _hostname or makeName()
        self.stop_event = threading.Event()
        # Until then, ZooKeeper can be used.
        self.join_event = threading.Event()
        self.repl = None
        # Whether others know that we work.
        self._is_running = False
        self.connection_filter = self._getFilter()
        self.own_temp_directory = TempDirectory(
            get_default(config, 'launcher', 'temp_dir', '/tmp',
                        expand_user=True), self.hostname)
        self.temp_dir = str(self.own_temp_directory.path)
        self.image_size_limit = int(self._getOption('image_size_limit'))
        self.require_image_checksums = self._getOption(
            'require_image_checksums')
        self.call_timeout = float(self._getOption('call_timeout'))
        self.image_timeout = float(self._getOption('image_timeout'))
        self.image_minimum_rate = int(self._getOption('image_minimum_rate'))
        self.image_sources = addresses.ImageSources(
            get_default(config, 'launcher', 'image_sources'))
        self.statsd = get_statsd(
            config, {'hostname': _hostname or socket.getfqdn()})
        for driver in connections.drivers.values():
            # See the driver API; those of Zuul do not ask for it.
            driver.steps_have_threads = True
            driver.image_sources = self.image_sources
            driver.statsd = self.statsd
            driver.image_size_limit = self.image_size_limit
            driver.require_image_checksums = self.require_image_checksums
        with takenInTurn():
            self._connect()
            self._makeParts()

    def _getFilter(self):
        text = get_default(self.config, 'launcher', 'connection_filter')
        return [name.strip() for name in text.split(',')] if text else None

    def _connect(self):
        self.zk_client = ZooKeeperClient.fromConfig(self.config)
        self.zk_client.connect()
        self.disconnect = Disconnect(self.zk_client)
        installSockets(self.zk_client.client)
        self.zk_client.client.add_listener(self._listen)
        self.system = ZuulSystem(self.zk_client)
        self.trigger_events = TenantTriggerEventQueue.createRegistry(
            self.zk_client, self.connections)
        self.result_events = PipelineResultEventQueue.createRegistry(
            self.zk_client)
        COMPONENT_REGISTRY.create(self.zk_client)
        self.component_info = LauncherComponent(
            self.zk_client, self.hostname, version=get_version_string(),
            connection_filter=self.connection_filter)
        self.component_info.register()

    def _makeParts(self):
        registry = COMPONENT_REGISTRY.registry
        self.queue = WorkQueue(self.work, WORKERS)
        self.record_events = RecordEvents(self)
        self.console_logs = ConsoleLogs(self)
        self.min_ready = MinReady(self)
        self.session = Session(self.zk_client, self.hostname, self.join_event,
                           self.record_events.tellWritten, self._isShared)
        self.ownership = Ownership(registry, self.component_info)
        self.former_providers = FormerProviders(
            self.zk_client, self.connections, self.system.system_id)
        self.layouts = Layouts(
            self.zk_client, self.connections, self.system.system_id,
            lambda lock: self.createZKContext(lock, self.log),
            lambda: self.queue.add(LAYOUT), self.former_providers.find,
            self._setScope, self.hostname)
        self.image_build_registry = Builds(
            self.zk_client, lambda: self.queue.add(IMAGES))
        self.image_upload_registry = Uploads(
            self.zk_client, lambda: self.queue.add(IMAGES))
        self.image_remarks = Remarks(self.zk_client.client)
        self.image_steering = Steering(
            self.zk_client, lambda: self.queue.add(IMAGES))
        self.images = Images(self)
        self.distribution = Distribution(self)
        self.planner = Planner(
            lambda request_id: self.queue.add(('request', request_id)),
            tellRoom=self.min_ready.tell, canUse=self.images.canUse,
            isHandled=self.ownership.isHandled, isAsked=self._isAsked,
            getProblem=self._getProblem, isGiven=self.isGiven,
            tellName=lambda host: self.queue.add(('name', host)))
        lookups = Lookups()
        self.names = Names(lookups, self.planner, self.queue)
        self.reclaim = Reclaim(self)
        # Provider -> how often it has failed, one time after the other.
        self._failures = collections.Counter()
        # Its caches tell of what they read while it is made.
        self.api = self.request_reconciler = None
        self.api = Records(
            self.zk_client, registry, self.component_info,
            self.record_events.tell, self.session.own_writes,
            self.connection_filter)
        self.reservations = PublishedReservations(
            self.zk_client, self.hostname, self._setReservations)
        self.pools = EndpointPools(
            int(self._getOption('endpoint_workers')),
            self.call_timeout,
            lambda name, delay: self.queue.addAfter(('pool', name), delay),
            lambda: self.queue.add(IMAGES))
        self.host_key_scanner = HostKeyScanner(
            lambda key, scan: self.queue.add(key), self._checkAddress,
            names=lookups)
        self.liveness_check = LivenessCheck(self)
        self.state_machines = StateMachines(self)
        self.snapshots = Snapshots(self)
        self.stats = Stats(self)
        self.new_records = NewRecords(self)
        self.node_reconciler = NodeReconciler(self)
        self.request_reconciler = RequestReconciler(
            self, float(self._getOption('unhandled_timeout')))
        self.static_nodes = StaticNodes(self)
        self.endpoint_reconciler = EndpointReconciler(self, self._submit)
        self.handlers = {
            'request': self.request_reconciler.reconcile,
            'reasons': lambda _: self.request_reconciler.tellReasons(),
            'node': self.node_reconciler.reconcile,
            'liveness': self.liveness_check.reconcile,
            'name': self.names.reconcile,
            'static': self.static_nodes.reconcile,
            'gone': self.static_nodes.reconcileNode,
            'provider': self._resume,
            'endpoint': self.endpoint_reconciler.reconcile,
            'others': lambda _: self._lookAtOthers(),
            'surplus': lambda _: self.reclaim.reconcile(),
            'pool': self.pools.check,
            'lock': self.node_reconciler.termination.removeLock,
            'layout': lambda _: self._updateLayouts(),
            'images': lambda _: self._lookAtImages(),
            'minready': lambda _: self.min_ready.reconcile(),
            'division': lambda _: self._divide(),
            'reservations': lambda _: self._publish(),
        }
        registry.registerCallback(self._tellDivision)

    def _getOption(self, name):
        return get_default(self.config, 'launcher', name, DEFAULTS[name])

    # What the parts use

    @property
    def scope(self):
        return self.layouts.scope

    @property
    def tenant_providers(self):
        return self.layouts.tenant_providers

    @property
    def local_layout_state(self):
        return self.layouts.states

    def createZKContext(self, lock, log):
        return self.session.context(lock, log)

    def getEndpoints(self):
        """:return: canonical name -> endpoint of each that we handle."""
        endpoints = {}
        for provider in self.scope.getPlaces().values():
            if not self.ownership.handles(provider.connection_name):
                continue
            try:
                endpoint = provider.getEndpoint()
            except Exception:
                self.log.exception('Unable to get the endpoint of %s:',
                                   provider)
                continue
            endpoints[endpoint.canonical_name] = endpoint
        return endpoints

    def isGiven(self, connection_name):
        return isGivenAt(self.connections, connection_name)

    def _checkAddress(self, node, address):
        connection = self.connections.connections.get(node.connection_name)
        if connection is not None:
            bounds.checkAddress(connection, node.interface_ip, address)

    def commitNew(self, transaction, nodes):
        """Write what assigns nodes, or creates them; they are known as
        that before the watch tells of them.

        :param Transaction transaction:
        :param list nodes: records that it creates.
        :raises: as the transaction.
        """
        cache = self.api.nodes_cache
        expected = []
        try:
            for part, attributes in transaction.created_parts:
                cache.expectPart(part, attributes)
                expected.append(part)
            for node in nodes:
                cache.insert(node)
            transaction.commit()
        except BaseException:
            for part in expected:
                cache.discardPart(part)
            for node in nodes:
                cache.discard(node)
            for part in expected:
                # Somebody may have looked meanwhile.
                self.record_events.tellWritten(part.node)
            raise
        for each in (*expected, *nodes):
            cache.noteCreated(each)

    def pauseProvider(self, name, reason, for_room=False):
        """No new nodes from a provider for some time, more each time.

        :param bool for_room: as of :meth:`.planner.Planner.pause`.
        """
        pause = getPause(self._failures[name], first=1, longest=300)
        if not self.planner.pause(
                name, time.monotonic() + pause, reason, for_room):
            # What was begun together has failed together.
            return
        self._failures[name] += 1
        self.log.info('Provider %s is paused for %.1f seconds: %s',
                      name, pause, reason)
        self.queue.addAfter(('provider', name), pause)

    def _resume(self, name):
        if left := self.planner.getPause(name):
            # This was the time of a pause that ended before it.
            self.queue.addAfter(('provider', name), left)
            return
        self.planner.resume(name)
        self.min_ready.tell()

    def tellReservations(self):
        """Other launchers, if any, are to know what we have reserved, soon.
        """
        if self._isShared():
            self.queue.addAfter(RESERVATIONS, PUBLISH_INTERVAL)

    def clearPause(self, node):
        self._failures.pop(node.provider, None)
        self.min_ready.clearPause(node)

    # What happens

    def work(self, key):
        """Look at what has changed; the handler of the work queue."""
        kind, name = key
        begin = time.monotonic()
        self.handlers[kind](name)
        self.stats.reportHandler(time.monotonic() - begin)

    def _isShared(self):
        return len(self.ownership.getLaunchers()) > 1

    def _listen(self, state):
        """Called by kazoo, about the session."""
        if state == KazooState.LOST:
            # All locks are, too.  When there is a session again, the
            # caches tell of all records.
            self.reservations.forgetSession()

    def _tellDivision(self):
        self.queue.add(DIVISION)

    def _divide(self):
        """Launchers come and go, and leave what is ours now."""
        if not self.ownership.hasChanged():
            # It was a component of another kind.
            return
        self.planner.limitsChanged()
        self._lookAtAll()
        self.queue.add(RESERVATIONS)
        self.ownership.note()

    def _lookAtAll(self):
        for request in self.api.requests_cache.getItems():
            self.queue.add(('request', request.uuid))
        for node in self.api.nodes_cache.getItems():
            self.queue.add(('node', node.uuid))
        for name in self.getEndpoints():
            self.queue.add(('endpoint', name))
        self.queue.add(OTHERS)
        self.min_ready.tell()

    def _lookAtOthers(self):
        """Plan with what others have asked of clouds that we do not ask."""
        names = {
            name for name, providers in self.scope.by_name.items()
            if not all(self.ownership.handles(provider.connection_name)
                       for provider in providers)}
        if names:
            self.planner.limitsChanged(names)
            self.min_ready.tell()
            self.queue.addAfter(OTHERS, OTHERS_INTERVAL)

    def _setScope(self, scope):
        self.planner.setScope(scope)

    def _updateLayouts(self):
        tenants = self.layouts.update()
        if tenants:
            self.log.info('Layouts of %s are read', ', '.join(sorted(tenants)))
        if self.layouts.states and not self._is_running:
            self.component_info.state = self.component_info.RUNNING
            # The component says so before it is written.
            self._is_running = True
        if self.layouts.put_off:
            self.layouts.put_off = False
            self.queue.add(IMAGES)
            for name in self.scope.by_name:
                self.queue.add(('static', name))
            self._lookAtAll()
        if self.scope.unread:
            # Whoever has the lock of a tenant may have it for long.
            self.queue.addAfter(LAYOUT, getPause(
                self.layouts.attempts, first=FIRST_LAYOUT_PAUSE,
                longest=LONGEST_LAYOUT_PAUSE))
        self.former_providers.keep(self.scope)

    def _setReservations(self, reservations):
        """Others wait for room that our nodes may take."""
        self.planner.setReservations(reservations)
        if reservations:
            self.reclaim.tell()

    def _publish(self):
        reservations = (
            self.planner.getReservations() if self._isShared() else {})
        self.reservations.publish(reservations)
        if reservations:
            # They pass on to others without our being told.
            self.tellReservations()

    def _lookAtImages(self):
        # What a tenant wants that is not known yet must not be deleted.
        if self.layouts.states and self.layouts.isUpToDate():
            try:
                self.distribution.reconcile()
            finally:
                self.images.reconcile()
            self.planner.limitsChanged()
            self.min_ready.tell()

    def _isAsked(self, provider, label_name=None):
        if self.ownership.handles(provider.connection_name):
            return self.endpoint_reconciler.isAsked(provider, label_name)
        # Other launchers ask, and tell only what they were answered.
        return label_name is None or (
            self.planner.capacity.limits.getCharges(provider, label_name)
            is not None)

    def _getProblem(self, provider, label_name):
        if self.ownership.handles(provider.connection_name):
            return self.endpoint_reconciler.getProblem(provider, label_name)
        return withProblem(
            'another launcher has yet to say what it needs',
            self.planner.capacity.limits.getProblem(provider, label_name))

    def _submit(self, endpoint, function, giveUp):
        def done(_, error):
            if error is not None:
                giveUp(error)
        self.pools.submit(endpoint, function, done, 'Looking after resources')

    # Start and end

    def start(self):
        with takenInTurn():
            self.host_key_scanner.start()
            self.images.start()
            self.queue.start()
            self.stats.start()
        self.queue.add(LAYOUT)

    def stop(self):
        """Stop; what has not begun is left to others."""
        self.log.debug('Stopping launcher')
        self.disconnect.begin(STOP_TIMEOUT)
        try:
            # Without a connection, nobody is going to count on us anyway.
            if self.zk_client.connected:
                self.component_info.state = self.component_info.STOPPED
        except Exception:
            self.log.exception('Unable to tell of the stop:')
        self.stopRepl()
        COMPONENT_REGISTRY.registry.unregisterCallback(self._tellDivision)
        self.stop_event.set()
        self.queue.stop()
        self.stats.stop()
        self.images.stop()
        self.host_key_scanner.stop()
        self.pools.stop()
        # An endpoint whose start hangs does not let itself be stopped.
        stopping = threading.Thread(target=self.connections.stop, daemon=True)
        stopping.start()
        stopping.join(STOP_TIMEOUT)

    def join(self):
        """Returns when all that the launcher did has ended."""
        # Without ZooKeeper, some have to be told first not to wait for it.
        self.queue.join(2 * STOP_TIMEOUT)
        self.pools.join(STOP_TIMEOUT)
        self.stats.join()
        self.images.join(STOP_TIMEOUT)
        self.host_key_scanner.join()
        self.join_event.set()
        for cache in (self.api, self.reservations, self.image_steering,
                      self.image_build_registry, self.image_upload_registry):
            cache.stop()
        self.disconnect.end()
        self.own_temp_directory.remove()
        self.log.debug('Stopped launcher')

    def startRepl(self):
        if not self.repl:
            self.repl = zuul.lib.repl.REPLServer(self)
            self.repl.start()

    def stopRepl(self):
        if self.repl:
            self.repl.stop()
            self.repl = None


def makeName():
    """:return: a name that no other launcher has.

    Work is divided over launchers by name, also over several on one host.
    """
    return f'{socket.getfqdn()}-{secrets.token_hex(4)}'
