"""Nodes that are ready: whether they still are, before somebody gets them.

Between two jobs a machine that is not made for a job may wait for days, and
be switched off or installed anew meanwhile.  So it is connected to once
more, after it has been granted to a request and before that is written.

Until it is written, the grant is in this launcher's memory only: if the
launcher dies, another one plans the request anew.  If a node fails, it
goes out of service, and so does not fit the grant any more.
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
    """
    :param NodeRecords nodes:
    :param HostKeyScanner scanner: connects to machines.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, nodes, scanner, settings):
        self.nodes = nodes
        self.scanner = scanner
        self.settings = settings
        self._lock = threading.Lock()
        # Machine -> its scan, and the requests that wait for the end of it.
        self._scans = {}
        # Machine -> when it has answered.
        self._answered = {}

    def check(self, grant, log):
        """Look whether all nodes of a grant that are ready can be used.

        :param Grant grant: nothing of which is written.
        :return: whether that is known.  If not, the request is added to
            the work queue when it may be.
        :raises Conflict: a node is not ready any more.
        """
        # All of them at the same time.
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
        log.debug('Request %s waits until node %s answers', request_id, node)
        return False

    def _hasAnswered(self, machine_id):
        return (machine_id in self._answered
                and time.monotonic() - self._answered[machine_id]
                < self.settings.liveness_memory)

    def _scan(self, machine):
        """:return: a Scan; its end is the key of the machine in the work
            queue."""
        # Its host keys may change meanwhile, and the time is ours.
        target = copy.copy(machine)
        setAttributes(target, boot_timeout=self.settings.liveness_timeout)
        return self.scanner.add(
            ('liveness', machine.uuid), target,
            get_annotated_logger(self.log, machine), Check)

    def reconcile(self, machine_id):
        """Take in what the scan of a machine has found."""
        with self._lock:
            scan, _ = self._scans.get(machine_id, (None, None))
        if scan is None or not scan.complete:
            return
        machine = self.nodes.get(machine_id)
        if machine and machine.getZKVersion() == scan.node.getZKVersion():
            self._judge(machine, scan)
        with self._lock:
            _, request_ids = self._scans.pop(machine_id)
        for request_id in request_ids:
            self.nodes.queue.add(('request', request_id))

    def _judge(self, machine, scan):
        """Put a machine out of service that has not answered, or not as it
        should.

        It goes as one that could not be registered goes, so it comes back
        when it answers again.
        """
        try:
            checkHostKeys(machine, scan, machine.host_keys)
        except LaunchKeyscanException as error:
            self.nodes.fail(
                machine, describe(error, machine), scan.log)
        else:
            self.noteAnswer(machine)

    def noteAnswer(self, node):
        """
        :param ProviderNode node: that was scanned: a machine or a slot.
        """
        self._answered[getMachineId(node)] = time.monotonic()

    def forget(self, node_id):
        """There is no such node any more."""
        self._answered.pop(node_id, None)


def _isChecked(slot):
    return slot.node is not None and isGiven(slot.provider.driver)
