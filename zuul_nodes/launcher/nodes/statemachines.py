"""The state machines of drivers: each step in a thread of its endpoint.

Between two steps, what a machine knows is in the node's record, so that
any launcher can go on from there.
"""

import copy
import threading
import time

from kazoo.exceptions import KazooException
from zuul.launcher.server import LaunchTimeoutError
from zuul.launcher.subnodes import SubnodeProviderNode, SubnodeStateMachine

from zuul_nodes import messages
from zuul_nodes.launcher.nodes.polling import Polling
from zuul_nodes.launcher.providers import isGiven
from zuul_nodes.launcher.workers import getPause
from zuul_nodes.launcher.zookeeper import Conflict, setAttributes, setContext

# A machine that gets on for ever gives others a turn.
MOST_STEPS = 20


class Turn:
    """One step of a node, as the context in which its driver writes to it.

    A step that was given up goes on in its thread for as long as it likes,
    and another one may have begun by then.  So nobody may write but the
    thread of the step, while that is under way.

    :param ProviderNode node:
    """

    def __init__(self, node):
        self.node = node
        self._thread = None
        self._lock = threading.Lock()
        self._over = False

    def __bool__(self):
        """Asked by Zuul's records before they let themselves be changed.
        """
        return not self._over and self._thread == threading.get_ident()

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
            raise TimeoutError('it was given up')


class StateMachines:
    """
    :param NodeRecords nodes:
    :param HandledEndpoints endpoints: that are looked after.
    :param EndpointPools pools: take the steps.
    :param getExternalId: gives for a node and its provider what the cloud
        calls its image.
    :param Settings settings:
    """

    def __init__(self, nodes, endpoints, pools, getExternalId, settings):
        self.nodes = nodes
        self.endpoints = endpoints
        self.pools = pools
        self.getExternalId = getExternalId
        self.settings = settings
        self._busy = set()
        # Those of them whose next step is to come later: what withdraws it.
        self._waiting = {}
        # Nodes that somebody has asked for during a step.
        self._asked = set()
        self._polling = Polling(self._remind, settings.shortest_poll)
        self._failures = {}
        # Nodes that were given up, though their cloud may still have them.
        self._left = set()

    def isBusy(self, node_id):
        """:return: whether a step is under way; one that waits for its
            time is not, and will not come by itself any more."""
        if node_id not in self._busy or self._withdraw(node_id):
            return False
        self._asked.add(node_id)
        # It may have ended meanwhile, and not seen that.
        return node_id in self._busy

    def _withdraw(self, node_id):
        """:return: whether a step waited for its time and does no more."""
        withdraw = self._waiting.pop(node_id, None)
        if withdraw is None or not withdraw():
            return False
        self._busy.discard(node_id)
        return True

    def forget(self, node_id):
        """The node is somebody else's, or in another state."""
        self._polling.forget(node_id)
        self._failures.pop(node_id, None)
        self._left.discard(node_id)

    def isLeft(self, node_id):
        """:return: whether a cloud was given up that does not delete a
            node."""
        return node_id in self._left

    def create(self, node, provider, done, log):
        """Take steps towards a node.

        :param done: called in another thread: with how long to wait before
            the next step, or None if the node is there; and with None or
            what was raised.  Not called while there is nothing new.
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
            self._polling.begin(node.uuid, kind, is_new)
            self._advance(node, machine, turn, log)
            if machine.complete:
                self._polling.end(node.uuid)
                return None, True
            elapsed = self._polling.getElapsed(node.uuid)
            if provider.launch_timeout and elapsed > provider.launch_timeout:
                raise LaunchTimeoutError(
                    f'not created in {provider.launch_timeout} seconds')
            wait = self._polling.getWait(node.uuid, machine.state)
            return wait, machine.toDict() != before

        self._submit(node, provider.getEndpoint(), step, done, 'Creating',
                     self._polling.getRest(node.uuid, kind))

    def delete(self, node, provider, done, log):
        """Take steps towards the end of a node; as :meth:`create`, but
        what is raised is tried again for some time."""
        kind = 'delete', node.provider

        def step(turn):
            machine = node.delete_state_machine
            before = machine and copy.deepcopy(machine.toDict())
            if machine is None:
                # A driver may be unable to begin, too.
                self._polling.begin(node.uuid, kind, False)
                machine = (
                    SubnodeStateMachine()
                    if isinstance(node, SubnodeProviderNode)
                    and not isGiven(provider.driver)
                    else provider.getDeleteStateMachine(node, log))
                node.delete_state_machine = machine
            # Each phase of a node's life has time of its own.
            self._polling.begin(
                node.uuid, kind, machine.state == machine.START)
            if not machine.complete:
                self._advance(node, machine, turn, log)
            if machine.complete:
                self._polling.end(node.uuid)
                return None, True
            timeout = self.settings.delete_timeout
            if self._polling.getElapsed(node.uuid) > timeout:
                raise TimeoutError(f'not deleted in {timeout:g} seconds')
            wait = self._polling.getWait(node.uuid, machine.state)
            return wait, machine.toDict() != before

        def end(wait, error):
            if error is not None:
                wait, error = self.retryDelete(node, error, log), None
            done(wait, error)

        self._submit(node, provider.getEndpoint(), step, end, 'Deleting',
                     self._polling.getRest(node.uuid, kind))

    def retryDelete(self, node, error, log):
        """A deletion has failed.

        :return: how long to wait before the next attempt.
        """
        attempt = self._failures.get(node.uuid, 0)
        self._failures[node.uuid] = attempt + 1
        self._polling.beginAgain(node.uuid)
        wait = getPause(attempt)
        if self._polling.getElapsed(node.uuid) > self.settings.delete_timeout:
            if self._isLookedAfter(node):
                log.error('Unable to delete node %s: %s', node,
                          messages.withoutSecrets(error))
                setAttributes(
                    node, delete_state_machine=SubnodeStateMachine())
                self._left.add(node.uuid)
                return 0
            # Without its record, nobody would ever know of it again.
            self._polling.forget(node.uuid)
        log.warning('Unable to delete node %s, trying again in %.1f '
                    'seconds: %s', node, wait, messages.getTraceback(error))
        # From what is recorded, not from what has failed half way.
        setAttributes(node, delete_state_machine=None)
        return wait

    def _isLookedAfter(self, node):
        """:return: whether what has leaked at the node's endpoint is found.
        """
        return any((node.connection_name, node.endpoint_name)
                   == (endpoint.connection.connection_name, endpoint.name)
                   for endpoint in self.endpoints.get().values())

    def _submit(self, node, endpoint, step, done, what, delay=0):
        """
        :param step: gives seconds to wait before the next one, or None if
            there is none; and whether anybody is to be told.  If not, it
            is taken again.
        :param float delay: seconds before which the step is not taken.
        """
        self._busy.add(node.uuid)
        turn = Turn(node)

        def run():
            self._waiting.pop(node.uuid, None)
            if not node.hasLock():
                # Somebody else may be at it already.
                return 0, True
            turn.begin()
            return step(turn)

        def end(result, error):
            turn.end()
            wait, is_new = result or (None, True)
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

    def _remind(self, node_id, due):
        self.nodes.queue.addAt(('node', node_id), due)

    def _advance(self, node, machine, turn, log):
        recorded = time.monotonic()
        for _ in range(MOST_STEPS):
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
                    # It is not the driver that has failed.  Who is told
                    # of this step tries to write it, too.
                    return
                recorded = time.monotonic()
