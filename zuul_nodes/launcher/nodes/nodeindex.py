"""The last known state of all nodes, as their records' events report it.

A record is one object, which its cache updates in place.  So this index keeps
copies of what depends on a node, to tell what an event has changed.
"""

import collections
import threading
import time
import typing

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes.readycounts import Kind, getKind
from zuul_nodes.launcher.planner import ENDED_STATES

State = ProviderNode.State

# States of nodes whose quota is about to be free.
LEAVING_STATES = (State.OUTDATED, State.USED)


class Facts(typing.NamedTuple):
    """What depends on a node.

    :ivar Kind kind: as which the node counts for min-ready; None if it does
        not count.
    """
    request_id: str | None
    host_id: str | None
    provider: str | None
    state: str | None
    kind: Kind | None


NOTHING = Facts(None, None, None, None, None)


class NodeIndex:
    """Keeps the facts of all nodes, and groups the nodes by them.

    :ivar dict facts: id of a node -> its Facts.
    :ivar dict assigned: id of a request -> set of the ids of its nodes, kept
        after the request's record is gone.
    """

    def __init__(self):
        self.facts = {}
        self.assigned = collections.defaultdict(set)
        self._numbers = collections.Counter()
        # Id of a node that is being deleted, or of a static one that has
        # failed -> since when, by the monotonic clock.
        self._leaving = {}
        # Several threads report nodes.
        self._lock = threading.Lock()

    def note(self, node_id, node):
        """
        :param ProviderNode node: its current record; None if it is deleted.
        :return: the former and the new Facts of the node.
        """
        with self._lock:
            # With the lock held, because another thread may have a newer
            # record.
            new = _getFacts(node) if node else NOTHING
            old = self.facts.get(node_id, NOTHING)
            if old != new:
                self._replace(node_id, old, new)
        return old, new

    def popAssigned(self, request_id):
        """:return: the ids of the nodes of a request whose record is gone."""
        with self._lock:
            return self.assigned.pop(request_id, ())

    def getCounts(self):
        """:return: the number of nodes of each Kind, a Counter; the time that
            this takes does not grow with the number of nodes."""
        with self._lock:
            return self._numbers.copy()

    def getLeaving(self, timeout):
        """
        :param float timeout: seconds; nodes that have not been deleted by then
            may be stuck, and do not count.
        :return: a set of the names of the providers that are deleting nodes.
        """
        earliest = time.monotonic() - timeout
        with self._lock:
            return {self.facts[node_id].provider
                    for node_id, since in self._leaving.items()
                    if since > earliest
                    and self.facts[node_id].state in LEAVING_STATES}

    def getStuck(self, timeout):
        """
        :param float timeout: seconds after which a node counts as stuck.
        :return: a set of the ids of the nodes that are being deleted, or have
            not answered, for longer.
        """
        latest = time.monotonic() - timeout
        with self._lock:
            return {node_id for node_id, since in self._leaving.items()
                    if since <= latest}

    def _replace(self, node_id, old, new):
        if new is NOTHING:
            del self.facts[node_id]
        else:
            self.facts[node_id] = new
        if assigned := self.assigned.get(old.request_id):
            assigned.discard(node_id)
            if not assigned:
                del self.assigned[old.request_id]
        if new.request_id:
            self.assigned[new.request_id].add(node_id)
        if old.kind:
            self._numbers[old.kind] -= 1
            if not self._numbers[old.kind]:
                del self._numbers[old.kind]
        if new.kind:
            self._numbers[new.kind] += 1
        if new.state in ENDED_STATES:
            self._leaving.setdefault(node_id, time.monotonic())
        elif new.state != State.REBUILDING:
            # A static node that is tried again has not answered yet.
            self._leaving.pop(node_id, None)


def _getFacts(node):
    return Facts(node.request_id, node.main_node_id, node.provider,
                 node.state, getKind(node))
