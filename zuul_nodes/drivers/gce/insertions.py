"""Instances that the cloud has accepted and then could not make.

A zone that has no room says so some seconds after it has accepted an
instance.  Then the instance vanishes, and only the operation that should
have made it tells why.  It is looked at when its instance is not in a list:
those that are made well cost no calls.

What is under way is in memory.  What others have begun, such as a launcher
that was killed, is found in the list of operations.

A zone that had no room is not asked again for some time: then nodes get to
another one at once.
"""

import datetime
import logging
import threading
import time

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    Instance,
    State,
)
from zuul_nodes.drivers.gce.errors import getFailure, isMissing

# Seconds between two looks at what others have begun.  The API waits for
# longer until it gives up an instance that it does not see.
ADOPTION = 60
# Seconds for which a failure is told.
MEMORY = 600
# Seconds for which a zone is not asked that had no room.
FULL = 300


class Insertions:
    """
    :param Client client:
    :param list_zones: gives the names of the zones of the region.
    """

    log = logging.getLogger('zuul.nodes.drivers.gce')

    def __init__(self, client, list_zones):
        self.client = client
        self.list_zones = list_zones
        self._lock = threading.Lock()
        # Id of an instance -> name of the operation.
        self._pending = {}
        # Id of an instance -> where it is to be, and what it is.
        self._kinds = {}
        # That -> until when it is not asked for.
        self._full = {}
        # Id of an instance -> its error, and until when it is told.
        self._failed = {}
        # Operations that need no more looks.
        self._done = set()
        self._next_adoption = 0.0

    def add(self, instance_id, operation, kind):
        """
        :param str operation: that makes an instance now.
        :param kind: instances that have the same are full at the same time.
        """
        with self._lock:
            self._failed.pop(instance_id, None)
            self._pending[instance_id] = operation
            self._kinds[instance_id] = kind

    def isFull(self, kind):
        """:return: whether there was no room for such a one lately."""
        with self._lock:
            return time.monotonic() < self._full.get(kind, 0)

    def forget(self, instance_id):
        """Nobody wants this instance any more."""
        with self._lock:
            self._failed.pop(instance_id, None)
            self._kinds.pop(instance_id, None)
            if operation := self._pending.pop(instance_id, None):
                self._done.add(operation)

    def getPending(self):
        """To be called before instances are listed.

        :return: what may be missing in the list: id -> operation.
        """
        self._adopt()
        with self._lock:
            return dict(self._pending)

    def check(self, pending, states):
        """
        :param dict pending: as it was before the list.
        :param dict states: id -> State of the instances that are listed.
        :return: yields an Instance for each that could not be made.
        """
        for instance_id, operation in pending.items():
            state = states.get(instance_id)
            if state is None:
                self._look(instance_id, operation)
            elif state is not State.BUILDING:
                self._end(instance_id, operation)
        with self._lock:
            now = time.monotonic()
            self._failed = {
                instance_id: (error, end) for instance_id, (error, end)
                in self._failed.items()
                if end > now and instance_id not in states}
            failed = list(self._failed.items())
        for instance_id, (error, _) in failed:
            yield Instance(
                instance_id, State.FAILED, {}, needs={'instances': 0},
                message=str(error), error=type(error))

    def _look(self, instance_id, name):
        try:
            operation = self.client.call(
                'ZoneOperations', 'get', operation=name,
                zone=instance_id.partition('/')[0])
        except DriverError as error:
            if not isMissing(error):
                raise
            self._end(instance_id, name)
        else:
            self._judge(instance_id, operation)

    def _judge(self, instance_id, operation):
        if operation.status == operation.Status.DONE:
            self._end(instance_id, operation.name, getFailure(operation))

    def _end(self, instance_id, name, error=None):
        with self._lock:
            # It may have been asked for anew meanwhile.
            if self._pending.get(instance_id) != name:
                return
            del self._pending[instance_id]
            self._done.add(name)
            kind = self._kinds.pop(instance_id, None)
            now = time.monotonic()
            if error is not None:
                self._failed[instance_id] = error, now + MEMORY
            if kind and isinstance(error, CapacityError):
                self._full[kind] = now + FULL
        if error is not None:
            self.log.info('Instance %s could not be made: %s',
                          instance_id, error)

    def _adopt(self):
        if time.monotonic() < self._next_adoption:
            return
        known = set()
        for zone in self.list_zones():
            newest = {}
            for operation in self._list(zone):
                known.add(operation.name)
                *_, kind, name = operation.target_link.split('/')
                if kind == 'instances':
                    newest.setdefault(f'{zone}/{name}', operation)
            for instance_id, operation in newest.items():
                self._adoptOne(instance_id, operation)
        with self._lock:
            # What is not listed any more never will be again.
            self._done &= known
        self._next_adoption = time.monotonic() + ADOPTION

    def _adoptOne(self, instance_id, operation):
        with self._lock:
            if operation.name in self._done or instance_id in self._pending:
                return
            self._pending[instance_id] = operation.name
        self._judge(instance_id, operation)

    def _list(self, zone):
        """:return: yields the operations that make something, those of the
            last minutes, the newest first."""
        oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
            seconds=MEMORY)
        for operation in self.client.list(
                'ZoneOperations', zone=zone,
                filter='operationType = "insert"',
                order_by='creationTimestamp desc'):
            if (datetime.datetime.fromisoformat(operation.insert_time)
                    <= oldest):
                break
            yield operation
