"""Elects the launcher that plans the requests of all tenants.

Each launcher that can plan is a candidate: it has an ephemeral node in
ZooKeeper with a number, and of all candidates the one with the lowest number
leads.  It leads until its node is gone, because later candidates have higher
numbers.  So a transaction that checks the node writes nothing once another
launcher may lead.

A launcher in a scheduler has other work, too.  If it leads and a launcher with
a process of its own is a candidate, it goes to the end of the line.
"""

from collections.abc import Callable
import logging
import threading
import uuid

from kazoo.protocol.states import ZnodeStat
from zuul.model import NodesetRequest
from zuul.zk import ZooKeeperClient

from zuul_nodes import candidates, zkrecords
from zuul_nodes.candidates import Candidate
from zuul_nodes.launcher.providers import Ownership
from zuul_nodes.launcher.workers import WorkQueue
from zuul_nodes.launcher.zookeeper import Conflict, Entry, Interruptible

KEY = ('election', '')
# Seconds until a launcher that could not read all records tries again.
RETRY = 1.0
# Seconds to wait for the thread that takes part in the election.
LEAVE_TIMEOUT = 1.0


class Candidates(Interruptible):
    """The candidates that ZooKeeper knows.

    :param changed: called after each change.
    """

    def __init__(self, zk_client: ZooKeeperClient,
                 changed: Callable[[], object]) -> None:
        self.changed = changed
        super().__init__(zk_client, candidates.ROOT)

    def get(self) -> list[Candidate]:
        """:return: a list of the candidates; the first one leads."""
        return sorted(each.candidate for each in list(self.entries.values()))

    # What ZuulTreeCache asks for

    def parsePath(self, path: str) -> tuple[tuple[str] | None, bool, None]:
        name = path[len(self.root) + 1:]
        known = bool(name) and '/' not in name and name != '_sync'
        return (name,) if known else None, known, None

    def objectFromRaw(self, key: tuple[str], data: bytes,
                      stat: ZnodeStat) -> '_Record':
        return _Record(candidates.parse(key[0], data), stat)

    def updateFromRaw(self, obj: '_Record', key: tuple[str], data: bytes,
                      stat: ZnodeStat) -> None:
        # Candidates are never written again.
        obj.setStat(stat)

    def postCacheHook(self, event: object, data: bytes | None,
                      stat: ZnodeStat | None, key: tuple[str],
                      obj: '_Record | None') -> None:
        self.changed()


class _Record(Entry):
    def __init__(self, candidate: Candidate, stat: ZnodeStat) -> None:
        super().__init__(stat)
        self.candidate = candidate


class Election:
    """Takes part in the election.

    :param zk_client: with the session in which this launcher is a candidate.
    :param ownership: knows all running launchers, also Zuul's.
    :param is_embedded: whether this launcher runs in a scheduler.
    :param queue: the work queue, in which the election has a key.
    :param takeOver: called before this launcher leads, with a function that
        makes it lead; returns whether it has called that.
    :param changed: called when this launcher begins or ends to lead.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, zk_client: ZooKeeperClient, ownership: Ownership,
                 is_embedded: bool, queue: WorkQueue,
                 takeOver: Callable[[Callable[[], None]], bool],
                 changed: Callable[[], object]) -> None:
        self.client = zk_client.client
        self.ownership = ownership
        self.is_embedded = is_embedded
        self.queue = queue
        self.takeOver = takeOver
        self.changed = changed
        self._name = uuid.uuid4().hex
        self._is_candidate = False
        self._own: str | None = None
        self._term: str | None = None
        # Held by those who create and delete this launcher's candidates.
        self._lock = threading.Lock()
        self.candidates = Candidates(zk_client, lambda: queue.add(KEY))

    def getTerm(self) -> str:
        """
        :return: the path that transactions of the planner require: as long as
            it exists, this launcher leads.
        :raises Conflict: this launcher does not lead.
        """
        if term := self._term:
            return term
        raise Conflict('another launcher plans')

    def isMyRequest(self, request: NodesetRequest) -> bool:
        """:return: whether this launcher plans a request."""
        return self._isMine(
            lambda: self.ownership.getRequestOwner(request))

    def isMyLabel(self, canonical_name: str) -> bool:
        """:return: whether this launcher launches the min-ready nodes of a
            label."""
        return self._isMine(
            lambda: self.ownership.getLabelOwner(canonical_name))

    def _isMine(self, getOwner: Callable[[], str | None]) -> bool:
        if not self._term:
            return False
        # During a roll-out, Zuul's launchers run, too, and serve their share.
        zuuls = self.ownership.getZuuls()
        if not zuuls or (owner := getOwner()) not in zuuls:
            return True
        # One of an earlier release of ours is a candidate, too.
        return owner in {each.launcher for each in self.candidates.get()}

    def enter(self) -> None:
        """Become a candidate: this launcher is ready to plan."""
        self._is_candidate = True
        self.queue.add(KEY)

    def leave(self) -> None:
        """Be a candidate no more, so that another launcher leads at once.

        :raises KazooException: the connection is lost; the candidate goes
            with the session.
        """
        self._is_candidate = False
        self._term = None
        # The thread that has the lock may hang; :meth:`reconcile` then undoes
        # what it does after this.
        is_locked = self._lock.acquire(timeout=LEAVE_TIMEOUT)
        try:
            self._delete()
        finally:
            if is_locked:
                self._lock.release()

    def _delete(self) -> None:
        self._term = None
        for path in self._findOwn():
            zkrecords.delete(self.client, path)

    def reconcile(self) -> None:
        """Take the next step of the election."""
        with self._lock:
            if not self._is_candidate:
                return
            try:
                has_changed = self._step()
            finally:
                if not self._is_candidate:
                    self._delete()
        if has_changed:
            self.changed()

    def _step(self) -> bool:
        """:return: whether this launcher has begun or ended to lead."""
        had_term = self._term
        leads = self._leads(self.candidates.get())
        if not leads:
            self._term = None
        elif not had_term and not (
                self._isFirst() and self.takeOver(self._lead)):
            self.queue.addAfter(KEY, RETRY)
            return False
        if leads == bool(had_term):
            return False
        self.log.info('This launcher plans the requests of all tenants'
                      if leads else 'Another launcher plans')
        return True

    def _lead(self) -> None:
        self._term = self._own

    def _isFirst(self) -> bool:
        # The cache may not have read the candidates before this one yet.
        # ZooKeeper returns all that still exist, as it has returned this one.
        first = candidates.read(self.client)[:1]
        return [each.path for each in first] == [self._own]

    def _leads(self, known: list[Candidate]) -> bool:
        """Become a candidate if this launcher is none, and leave the planning
        to a launcher with a process of its own.

        :param known: the candidates.
        :return: whether this launcher leads.
        """
        if self._own not in {each.path for each in known}:
            if not (self._own and self.client.exists(self._own)):
                for path in self._findOwn():
                    # It was created, and the answer was lost.
                    zkrecords.delete(self.client, path)
                self._own = self._create()
            # The cache reports it.
            return False
        if known[0].path != self._own:
            return False
        if not self.is_embedded or all(each.is_embedded for each in known):
            return True
        self.log.info('Leaving the planning to a launcher with a process of '
                      'its own')
        self._resign()
        return False

    def _resign(self) -> None:
        former = self._own
        # First the new one, so that this launcher is always a candidate.
        self._own = self._create()
        if former:
            zkrecords.delete(self.client, former)

    def _create(self) -> str:
        return candidates.create(
            self.client, self._name, self.ownership.component.hostname,
            self.is_embedded)

    def _findOwn(self) -> list[str]:
        """:return: the paths of all nodes of this launcher."""
        return [f'{candidates.ROOT}/{name}' for name
                in zkrecords.getChildren(self.client, candidates.ROOT)
                if name.startswith(f'{self._name}-')]

    def stop(self) -> None:
        self.candidates.stop()
