"""Checks that granted static nodes still answer.

A static node may wait for days between two jobs, and may be switched off or
reinstalled meanwhile.  So the launcher connects to the node once more, after
it has granted it to a request and before it writes the grant.

Until then, the grant is only in this launcher's memory: if the launcher dies,
another one plans the request anew.  A node that fails the check is marked as
failed, and no longer fits the grant.
"""

import copy
import logging
import threading
import time

from zuul.exceptions import LaunchKeyscanException
from zuul.lib.logutil import get_annotated_logger
from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes.hostkeys import checkHostKeys
from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.nodes.scanrequests import Check
from zuul_nodes.launcher.providers import describe, getMachineId, isGiven
from zuul_nodes.launcher.zookeeper import Conflict, setAttributes

State = ProviderNode.State


class LivenessCheck:
    """Runs the liveness checks of granted nodes.

    :param NodeRecords nodes:
    :param HostKeyScanner scanner: connects to the machines.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, nodes, scanner, settings):
        self.nodes = nodes
        self.scanner = scanner
        self.settings = settings
        self._lock = threading.Lock()
        # Uuid of a machine -> its scan, and the requests that wait for it.
        self._scans = {}
        # Uuid of a machine -> when it last answered, by the monotonic clock.
        self._answered = {}

    def check(self, grant, log):
        """Check all ready nodes of a grant that need a liveness check.

        :param Grant grant: an unwritten grant.
        :return: whether all checks are complete.  If not, the request is
            queued again when they may be.
        :raises Conflict: a node is not ready any more.
        """
        # A list, so that all checks run at the same time.
        return all([self._checkNode(slot.node, grant.request_id, log)
                    for slot in grant.slots if _isChecked(slot)])

    def _checkNode(self, node, request_id, log):
        machine_id = getMachineId(node)
        machine = self.nodes.get(machine_id)
        if machine is None or node.state != State.READY:
            raise Conflict(f'{node} is not ready any more')
        if not needsScan(machine) or not self.nodes.ownership.handles(
                machine.connection_name):
            return True
        with self._lock:
            if self._hasAnswered(machine_id):
                return True
            if machine_id not in self._scans:
                self._scans[machine_id] = self._scan(machine), set()
            self._scans[machine_id][1].add(request_id)
        log.debug('Request %s waits for the liveness check of node %s',
                  request_id, node)
        return False

    def _hasAnswered(self, machine_id):
        return (machine_id in self._answered
                and time.monotonic() - self._answered[machine_id]
                < self.settings.liveness_memory)

    def _scan(self, machine):
        """:return: a Scan; the machine's key is queued when it ends."""
        # A copy with a time-out of our own, as the record may change during
        # the scan.
        target = copy.copy(machine)
        setAttributes(target, boot_timeout=self.settings.liveness_timeout)
        return self.scanner.add(
            ('liveness', machine.uuid), target,
            get_annotated_logger(self.log, machine), Check)

    def reconcile(self, machine_id):
        """Process the result of a machine's scan."""
        with self._lock:
            scan, _ = self._scans.get(machine_id, (None, None))
        if scan is None or not scan.complete:
            return
        machine = self.nodes.get(machine_id)
        if machine and machine.getZKVersion() == scan.node.getZKVersion():
            self._recordResult(machine, scan)
        with self._lock:
            _, request_ids = self._scans.pop(machine_id)
        for request_id in request_ids:
            self.nodes.queue.add(('request', request_id))

    def _recordResult(self, machine, scan):
        """Mark a machine as failed if it has not answered, or shows wrong host
        keys.

        It then goes through registration like any failed static node, and
        returns to service when it answers again.
        """
        try:
            checkHostKeys(machine, scan, machine.host_keys)
        except LaunchKeyscanException as error:
            self.nodes.fail(
                machine, describe(error, machine), scan.log)
        else:
            self.noteAnswer(machine)

    def noteAnswer(self, node):
        """Note that a node has answered.

        :param ProviderNode node: the scanned machine, or a slot of it.
        """
        self._answered[getMachineId(node)] = time.monotonic()

    def forget(self, node_id):
        """Forget a node that is deleted."""
        self._answered.pop(node_id, None)


def _isChecked(slot):
    return slot.node is not None and isGiven(slot.provider.driver)
