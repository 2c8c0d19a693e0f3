"""Runs the state machines of drivers: each step in a thread of its endpoint.

Between two steps, the state is in the node's record, so any launcher can
continue from there.
"""

import copy
import threading
import time

from kazoo.exceptions import KazooException
from zuul.launcher.server import LaunchTimeoutError
from zuul.launcher.subnodes import SubnodeProviderNode, SubnodeStateMachine

from zuul_nodes import messages
from zuul_nodes.launcher.metrics import COMPLETED
from zuul_nodes.launcher.nodes.polling import Polling
from zuul_nodes.launcher.providers import isGiven, isLoginRefused
from zuul_nodes.launcher.workers import Backoff
from zuul_nodes.launcher.zookeeper import Conflict, setAttributes, setContext

# Maximum steps in a row, so that other nodes get a turn.
MOST_STEPS = 20


class Turn:
    """One step of a node, and the context in which the driver may write to it.

    A step that was given up continues in its thread, and another step may have
    begun by then.  So only the thread of the current step may write to the
    node, as long as the launcher has its lock.

    :param ProviderNode node:
    """

    def __init__(self, node):
        self.node = node
        self._thread = None
        self._lock = threading.Lock()
        self._over = False

    def __bool__(self):
        """Whether the current thread may write; Zuul's records check this.

        After the lock is lost, the node in memory must stay as another
        launcher has written it.
        """
        return (not self._over and self._thread == threading.get_ident()
                and self.node.hasLock())

    def begin(self):
        with self._lock:
            self._check()
            self._thread = threading.get_ident()
            setContext(self.node, self)

    def end(self):
        with self._lock:
            self._over = True

    def advance(self, machine):
        machine.advance()
        self._check()

    def save(self, save):
        with self._lock:
            self._check()
            save(self.node)

    def _check(self):
        if self._over:
            raise TimeoutError('the step was given up')


class WithdrawnError(Exception):
    """Another launcher has to continue with the node, because the cloud
    refuses the log-in of this one."""


class RefusedError(Exception):
    """The step has to be repeated, because the cloud has refused the log-in,
    which may be a hiccup."""


class StateMachines:
    """Runs the state machines of drivers.

    :param NodeRecords nodes:
    :param HandledEndpoints endpoints: the endpoints that this launcher
        handles.
    :param EndpointPools pools: run the steps.
    :param getExternalId: called with a node and its provider; returns the
        cloud's id of the node's image.
    :param Settings settings:
    :param withdraw: called with an endpoint and an error, if the cloud refuses
        the log-in for steps of nodes, but not for others.
    :ivar Polling polling: schedules the delayed steps.
    """

    def __init__(self, nodes, endpoints, pools, getExternalId, settings,
                 withdraw):
        self.nodes = nodes
        self.endpoints = endpoints
        self.pools = pools
        self.getExternalId = getExternalId
        self.settings = settings
        self.withdraw = withdraw
        # Nodes of which a step is repeated because the log-in was refused.
        self._refused = set()
        self._busy = set()
        # Uuid of a busy node whose next step is delayed -> function that
        # withdraws the step.
        self._waiting = {}
        # Nodes that were queued during a step.
        self._asked = set()
        self.polling = Polling(self._remind, settings.shortest_poll)
        # Of the uuids of nodes whose deletion has failed.
        self.backoff = Backoff(settings.first_backoff,
                               settings.longest_backoff)
        # Nodes whose deletion was given up; the cloud may still have them.
        self._left = set()

    def isBusy(self, node_id):
        """Check whether a step is running, and withdraw a step that is
        delayed.

        :return: whether a step is running.  If so, the node is queued when the
            step ends.
        """
        if node_id not in self._busy or self._withdraw(node_id):
            return False
        self._asked.add(node_id)
        # The step may have ended before it could see the request above.
        return node_id in self._busy

    def _withdraw(self, node_id):
        """:return: whether a delayed step was withdrawn."""
        withdraw = self._waiting.pop(node_id, None)
        if withdraw is None or not withdraw():
            return False
        self._busy.discard(node_id)
        return True

    def forget(self, node_id):
        """Forget a node that another component handles or that has a new
        state."""
        self.polling.forget(node_id)
        self.backoff.clear(node_id)
        self._left.discard(node_id)

    def forgetRefusal(self, node_id):
        self._refused.discard(node_id)

    def isLeft(self, node_id):
        """:return: whether the deletion of the node was given up."""
        return node_id in self._left

    def create(self, node, provider, done, log):
        """Run the steps of a node's launch.

        :param done: called in another thread with the seconds to wait before
            the next step, or None if the node exists; and with the error, or
            None.  Not called if nothing has changed.
        """
        kind = 'create', node.provider, node.label

        def step(turn):
            machine = node.create_state_machine
            before = machine and copy.deepcopy(machine.toDict())
            if machine is None:
                log.debug('Building node %s', node)
                machine = provider.getCreateStateMachine(
                    node, self.getExternalId(node, provider), log)
                node.create_state_machine = machine
            is_new = machine.state == machine.START
            if is_new:
                machine.start_time = time.time()
            self.polling.begin(node.uuid, kind, is_new)
            self._advance(node, machine, turn, log)
            if machine.complete:
                setattr(machine, COMPLETED, time.time())
                self.polling.end(node.uuid)
                return None, True
            elapsed = self.polling.getElapsed(node.uuid)
            if provider.launch_timeout and elapsed > provider.launch_timeout:
                raise LaunchTimeoutError(
                    f'not created in {provider.launch_timeout} seconds')
            wait = self.polling.getWait(node.uuid, machine.state)
            return wait, machine.toDict() != before

        self._submit(node, provider.getEndpoint(), step, done, 'Creating',
                     self.polling.getRest(node.uuid, kind))

    def delete(self, node, provider, done, log):
        """Run the steps of a node's deletion; as :meth:`create`, but errors
        are retried for some time."""
        kind = 'delete', node.provider

        def step(turn):
            machine = node.delete_state_machine
            before = machine and copy.deepcopy(machine.toDict())
            if machine is None:
                # Before the driver's state machine exists, as creating it may
                # fail, too.
                self.polling.begin(node.uuid, kind, False)
                machine = (
                    SubnodeStateMachine()
                    if isinstance(node, SubnodeProviderNode)
                    and not isGiven(provider.driver)
                    else provider.getDeleteStateMachine(node, log))
                node.delete_state_machine = machine
            # The launch and the deletion of a node are timed separately.
            self.polling.begin(
                node.uuid, kind, machine.state == machine.START)
            if not machine.complete:
                self._advance(node, machine, turn, log)
            if machine.complete:
                self.polling.end(node.uuid)
                return None, True
            timeout = self.settings.delete_timeout
            if self.polling.getElapsed(node.uuid) > timeout:
                raise TimeoutError(f'not deleted in {timeout:g} seconds')
            wait = self.polling.getWait(node.uuid, machine.state)
            return wait, machine.toDict() != before

        def end(wait, error):
            if error is not None and not isinstance(
                    error, WithdrawnError | RefusedError):
                wait, error = self.retryDelete(node, error, log), None
            done(wait, error)

        self._submit(node, provider.getEndpoint(), step, end, 'Deleting',
                     self.polling.getRest(node.uuid, kind))

    def retryDelete(self, node, error, log):
        """Schedule the next attempt of a failed deletion, or give up.

        :return: seconds until the next attempt.
        """
        wait = self.backoff.noteFailure(node.uuid)
        self.polling.beginAgain(node.uuid)
        if self.polling.getElapsed(node.uuid) > self.settings.delete_timeout:
            if self._isEndpointHandled(node):
                log.error('Unable to delete node %s: %s', node,
                          messages.withoutSecrets(error))
                setAttributes(
                    node, delete_state_machine=SubnodeStateMachine())
                self._left.add(node.uuid)
                return 0
            # Keep the record: without it, the instance would never be found.
            self.polling.forget(node.uuid)
        log.warning('Unable to delete node %s, trying again in %.1f '
                    'seconds: %s', node, wait, messages.getTraceback(error))
        # Restart from the record, not from the failed step.
        setAttributes(node, delete_state_machine=None)
        return wait

    def _isEndpointHandled(self, node):
        """:return: whether this launcher cleans up leaked resources at the
            node's endpoint."""
        return any((node.connection_name, node.endpoint_name)
                   == (endpoint.connection.connection_name, endpoint.name)
                   for endpoint in self.endpoints.get().values())

    def _submit(self, node, endpoint, step, done, what, delay=0):
        """
        :param step: returns the seconds to wait before the next step, or None
            if there is none; and whether to call ``done``.  If not, the step
            is repeated.
        :param float delay: minimum seconds before the step.
        """
        self._busy.add(node.uuid)
        turn = Turn(node)

        def run():
            self._waiting.pop(node.uuid, None)
            if not node.hasLock():
                # Another component may have the node already.
                return 0, True
            if self.endpoints.leaves(endpoint):
                raise WithdrawnError
            turn.begin()
            return step(turn)

        def end(result, error):
            turn.end()
            if error is not None:
                error = self._examine(node, endpoint, error)
            wait, is_new = result or (None, True)
            if error is None and wait is None:
                self.forgetRefusal(node.uuid)
            try:
                if is_new:
                    done(wait, error)
            finally:
                if is_new:
                    self._busy.discard(node.uuid)
                else:
                    self._submit(node, endpoint, step, done, what, wait)
                if node.uuid in self._asked and (
                        is_new or self._withdraw(node.uuid)):
                    self._asked.discard(node.uuid)
                    self.nodes.look(node.uuid)

        withdraw = self.pools.submit(
            endpoint, run, end, f'{what} node {node.uuid}', delay)
        if delay:
            self._waiting[node.uuid] = withdraw

    def _examine(self, node, endpoint, error):
        """
        :return: the error of a step; or another one if the node's record says
            from where to continue, here or elsewhere.
        """
        if isLoginRefused(error) and not self.endpoints.leaves(endpoint):
            if node.uuid not in self._refused:
                self._refused.add(node.uuid)
                return RefusedError()
            self.withdraw(endpoint, error)
        self.forgetRefusal(node.uuid)
        return WithdrawnError() if self.endpoints.leaves(endpoint) else error

    def _remind(self, node_id, due):
        self.nodes.queue.addAt(('node', node_id), due)

    def _advance(self, node, machine, turn, log):
        recorded = time.monotonic()
        for _ in range(MOST_STEPS):
            if not self.nodes.session.isCertain():
                # Another launcher may have the node.  The step is repeated.
                return
            state = machine.state
            turn.advance(machine)
            if machine.state == state:
                return
            log.debug('Node %s advanced from %s to %s',
                      node, state, machine.state)
            if machine.complete:
                return
            if time.monotonic() - recorded > self.settings.unrecorded_time:
                try:
                    turn.save(self.nodes.save)
                except (Conflict, KazooException):
                    # This is not the driver's error; the receiver of this step
                    # also writes, and reports the problem.
                    return
                recorded = time.monotonic()
