"""Reservations of all launchers, so that each keeps to them.

A request that waits at the head of its line is assigned to a provider,
which others must leave to it.  The launcher of the request says so in
ZooKeeper, for as long as it lives.
"""

import contextlib
import json

from kazoo.exceptions import NodeExistsError, NoNodeError
from zuul.zk.cache import ZuulTreeCache

from zuul_nodes.launcher.reservations import Reservation

ROOT = '/zuul/zuul-nodes/reservations'


class PublishedReservations(ZuulTreeCache):
    """
    :param ZooKeeperClient zk_client:
    :param str owner: the launcher's name.
    :param changed: called with what others have reserved: request -> a
        tuple of Reservation.
    """

    def __init__(self, zk_client, owner, changed):
        self.owner = owner
        self.changed = changed
        self._own = {}
        super().__init__(zk_client, ROOT)

    def publish(self, reservations):
        """
        :param dict reservations: all of ours: request -> a tuple.
        """
        for request_id, several in list(self._own.items()):
            if reservations.get(request_id) != several:
                del self._own[request_id]
                with contextlib.suppress(NoNodeError):
                    self.client.delete(f'{ROOT}/{request_id}')
        for request_id, several in reservations.items():
            if request_id not in self._own:
                self._create(request_id, several)

    def _create(self, request_id, reservations):
        data = json.dumps({'launcher': self.owner, 'reservations': [
            each._asdict() for each in reservations]}, sort_keys=True)
        # If it exists, it is of the launcher that had the request before,
        # and goes with its session.
        with contextlib.suppress(NodeExistsError):
            self.client.create(f'{ROOT}/{request_id}', data.encode(),
                               ephemeral=True, makepath=True)
            self._own[request_id] = reservations

    def forgetSession(self):
        """They went with it."""
        self._own.clear()

    # What ZuulTreeCache asks for

    def parsePath(self, path):
        name = path[len(self.root) + 1:]
        known = bool(name) and '/' not in name and name != '_sync'
        return (name,) if known else None, known, None

    def objectFromRaw(self, key, data, stat):
        return Published(data, stat)

    def updateFromRaw(self, obj, key, data, stat):
        """They are never changed."""

    def postCacheHook(self, event, data, stat, key, obj):
        self.changed({
            request_id: each.reservations for (request_id,), each
            in list(self._cached_objects.items())
            if each.launcher != self.owner})


class Published:
    """What is written of the reservations of a request."""

    def __init__(self, data, stat):
        content = json.loads(data)
        self.launcher = content['launcher']
        self.reservations = tuple(
            Reservation(**{**each, 'rank': tuple(each['rank']),
                           'labels': tuple(each['labels'])})
            for each in content['reservations'])
        self._zstat = stat
