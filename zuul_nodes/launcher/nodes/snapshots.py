"""Creates snapshots of nodes that jobs request.

The executor of the job holds the lock of the node and waits; the snapshot has
a lock of its own.
"""

import copy
import threading
import time

from zuul.launcher.server import ProviderNodeError

from zuul_nodes import audit, messages, snapshotrecords
from zuul_nodes.launcher.providers import describe
from zuul_nodes.launcher.zookeeper import getLock, serialize, setAttributes


class Snapshots:
    """Creates snapshots of nodes.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the providers of the nodes.
    :param EndpointPools pools: run the calls to the clouds.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param Settings settings:
    """

    def __init__(self, nodes, layouts, pools, endpoints, settings):
        self.nodes = nodes
        self.session = nodes.session
        self.layouts = layouts
        self.pools = pools
        self.endpoints = endpoints
        self.settings = settings
        self._busy = set()

    def reconcile(self, node, log):
        """Take the next step of a node's snapshot, if this launcher handles
        it."""
        snapshot = node.snapshot
        if (snapshot.complete or node.uuid in self._busy
                or not (snapshot.hasLock() or self.nodes.isMine(node))):
            return
        context = self.session.context()
        if not snapshot.hasLock():
            if not snapshot.acquireLock(context, blocking=False):
                # No watch reports the release of this lock.
                self.nodes.lookLater(
                    node, self.settings.snapshot_interval)
                return
            # On the monotonic clock of this launcher, because wall clocks may
            # jump.
            setAttributes(
                snapshot, state_machine=None, began=time.monotonic())
        if snapshot.state_machine is None:
            # The record says where to start or continue.
            snapshot.refresh(context)
        self._busy.add(node.uuid)
        try:
            provider = self.layouts.scope.getProviderFor(node)
            endpoint = provider.getEndpoint()
        except Exception as error:
            self._endStep(node, None, error, log)
            return
        begun = threading.Event()
        self.pools.submit(
            endpoint,
            lambda: self._advance(node, provider, begun, log),
            lambda result, error: self._endCall(
                node, endpoint, begun, result, error, log),
            f'Snapshot of node {node.uuid}')

    def _advance(self, node, provider, begun, log):
        """Run a step of the driver's state machine.

        :param threading.Event begun: is set when the step begins.
        :return: whether the snapshot is complete, and the id of the image.
        """
        begun.set()
        snapshot = node.snapshot
        machine = snapshot.state_machine
        if snapshot.complete:
            return True, snapshot.external_id
        if machine is None:
            log.debug('Snapshotting node %s', node)
            tags = copy.deepcopy(node.tags)
            tags.pop('zuul_node_uuid', None)
            # From the record's times, so that a launcher that continues asks
            # for the same.
            tags['zuul_expiration'] = str(int(
                node.state_time + node.snapshot_expiration))
            setAttributes(snapshot, tags=tags)
            machine = provider.getSnapshotStateMachine(node, log)
            if machine is None:
                raise ProviderNodeError(
                    f'driver {provider.driver.name} does not support '
                    'snapshots')
            setAttributes(snapshot, state_machine=machine)
        if machine.state == machine.START:
            machine.start_time = time.time()
        external_id = machine.advance()
        if not machine.complete and self._isLate(node):
            raise ProviderNodeError(
                f'snapshot not created in {node.snapshot_timeout:g} seconds')
        # An unwritable value is the driver's failure.
        serialize(snapshot, self.session.context())
        return machine.complete, external_id

    def _isLate(self, node):
        """:return: whether the time-out of the snapshot is over."""
        return node.snapshot_timeout and (
            time.monotonic() - node.snapshot.began > node.snapshot_timeout)

    def _endCall(self, node, endpoint, begun, result, error, log):
        """Write the result of a step, or try again later if its endpoint has
        not started in time, or leave it to another launcher.

        :param threading.Event begun: whether the step has begun.
        """
        if error is not None and self.endpoints.leaves(endpoint):
            log.info('Leaving the snapshot of node %s to another launcher, '
                     'because its cloud refuses the log-in', node)
            setAttributes(node.snapshot, state_machine=None)
            self._busy.discard(node.uuid)
            node.snapshot.releaseLock(self.session.context())
            return
        if (isinstance(error, TimeoutError) and not begun.is_set()
                and not self._isLate(node)):
            # The endpoint has taken too long to start.  Another one cannot
            # create this snapshot.  What the record says of it stays.
            log.warning('Unable to begin the snapshot of node %s, trying '
                        'again: %s', node, error)
            self._busy.discard(node.uuid)
            self.nodes.lookLater(node, self.settings.snapshot_interval)
            return
        self._endStep(node, result, error, log)

    def _endStep(self, node, result, error, log):
        """Write the result of a step."""
        snapshot = node.snapshot
        complete, external_id = result or (False, None)
        if error is not None:
            # A complete snapshot without an image tells the executor about the
            # failure.
            log.error('Unable to snapshot node %s: %s', node, (
                messages.withoutSecrets(error)
                if isinstance(error, ProviderNodeError)
                else messages.getTraceback(error)))
            complete = True
            setAttributes(snapshot, state_machine=None)
        if complete:
            audit.tell(
                audit.Event.CREATED, node, snapshot=external_id,
                result=audit.Result.DONE if error is None
                else audit.Result.FAILED,
                reason=error and describe(error),
                launcher=self.session.identifier)
        try:
            if external_id is not None and complete:
                # Before the executor sees the image, as the build may return
                # it at once.
                self._record(node, external_id)
            with self.session.context(getLock(snapshot), log) as context:
                attributes = {'complete': True, 'external_id': external_id}
                snapshot.updateAttributes(
                    context, **(attributes if complete else {}))
                if complete:
                    snapshot.releaseLock(context)
        except Exception:
            complete = False
            # The record may or may not be written, so read it again.
            setAttributes(snapshot, state_machine=None)
            raise
        finally:
            # After writing, so that no other step starts during it.
            self._busy.discard(node.uuid)
            if not complete:
                self.nodes.lookLater(
                    node, self.settings.snapshot_interval)

    def _record(self, node, url):
        snapshotrecords.add(
            self.session.client,
            snapshotrecords.Snapshot(url, node.uuid, node.tenant_name),
            int(node.snapshot.tags['zuul_expiration']))
