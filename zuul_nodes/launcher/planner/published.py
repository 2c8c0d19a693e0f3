"""Reservations of all launchers, so that each keeps to them.

A request that waits at the head of its line is assigned to a provider,
which others must leave to it.  The launcher of the request says so in
ZooKeeper, for as long as it lives.
"""

from collections.abc import Callable, Mapping
import contextlib
import json
from typing import TypeAlias

from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat
from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.planner.reservations import Reservation
from zuul_nodes.launcher.zookeeper import Entry, Interruptible

ROOT = '/zuul/zuul-nodes/reservations'
# All that a request has reserved.
Several: TypeAlias = tuple[Reservation, ...]


class PublishedReservations(Interruptible):
    """
    :param owner: the launcher's name.
    :param changed: called with what others have reserved: request -> a
        tuple of Reservation.
    """

    def __init__(self, zk_client: ZooKeeperClient, owner: str,
                 changed: Callable[[dict[str, Several]], object]) -> None:
        self.owner = owner
        self.changed = changed
        # Request -> what is written of it; None if that is not known.
        self._own: dict[str, Several | None] = {}
        self._session_lost = False
        super().__init__(zk_client, ROOT)

    def publish(self, reservations: Mapping[str, Several]) -> None:
        """
        :param reservations: all of ours: request -> a tuple.
        :raises KazooException: to be called again.
        """
        if self._session_lost:
            self._session_lost = False
            # Most have gone with it, but who knows which session the last
            # of them was written in?
            self._own = dict.fromkeys(self._own)
        for request_id, several in list(self._own.items()):
            if several is None:
                # Not even whose it is is known.
                self._delete(request_id)
        # Write before deleting: a reservation may have passed from one request
        # to another, and must not seem to be gone in between.
        for request_id, several in reservations.items():
            if self._own.get(request_id) != several:
                self._write(request_id, several)
        for request_id in self._own.keys() - reservations.keys():
            self._delete(request_id)

    def _write(self, request_id: str, reservations: Several) -> None:
        data = json.dumps({'launcher': self.owner, 'reservations': [
            each._asdict() for each in reservations]}, sort_keys=True).encode()
        path = f'{ROOT}/{request_id}'
        is_new = request_id not in self._own
        self._own[request_id] = None
        try:
            if is_new:
                self.client.create(
                    path, data, ephemeral=True, makepath=True)
            elif self._isOurs(path):
                self.client.set(path, data)
            else:
                raise NodeExistsError
        except NodeExistsError:
            # It is of the launcher that had the request before, and goes
            # with its session; or of the one that has it now.
            del self._own[request_id]
        else:
            self._own[request_id] = reservations

    def _delete(self, request_id: str) -> None:
        path = f'{ROOT}/{request_id}'
        with contextlib.suppress(NoNodeError):
            if self._isOurs(path):
                self.client.delete(path)
        del self._own[request_id]

    def _isOurs(self, path: str) -> bool:
        """:return: whether no other launcher has the request by now."""
        return Published(*self.client.get(path)).launcher == self.owner

    def forgetSession(self) -> None:
        """Called in another thread: what was written is no more."""
        self._session_lost = True

    # What ZuulTreeCache asks for

    def parsePath(self, path: str) -> tuple[tuple[str] | None, bool, None]:
        name = path[len(self.root) + 1:]
        known = bool(name) and '/' not in name and name != '_sync'
        return (name,) if known else None, known, None

    def objectFromRaw(self, key: tuple[str], data: bytes,
                      stat: ZnodeStat) -> 'Published':
        return Published(data, stat)

    def updateFromRaw(self, obj: 'Published', key: tuple[str], data: bytes,
                      stat: ZnodeStat) -> None:
        obj.read(data, stat)

    def postCacheHook(self, event: WatchedEvent, data: bytes | None,
                      stat: ZnodeStat | None, key: tuple[str],
                      obj: 'Published | None') -> None:
        if data is None and event.type in (EventType.CREATED,
                                           EventType.CHANGED):
            # It was deleted before the cache read it.  What was written
            # before the deletion is told of first.
            return
        self.changed({
            request_id: each.reservations for (request_id,), each
            in list(self.entries.items())
            if each.launcher != self.owner})


class Published(Entry):
    """What is written of the reservations of a request."""

    def __init__(self, data: bytes, stat: ZnodeStat) -> None:
        super().__init__(stat)
        self.read(data, stat)

    def read(self, data: bytes, stat: ZnodeStat) -> None:
        content = json.loads(data)
        self.reservations = tuple(
            Reservation(**{**each, 'rank': tuple(each['rank']),
                           'labels': tuple(each['labels'])})
            for each in content['reservations'])
        self.launcher = content['launcher']
        self.setStat(stat)
