"""Find instances that the cloud has accepted and could not create.

A zone without capacity reports this some seconds after it has accepted an
instance.  The instance then vanishes, and only the operation that should
have created it has the reason.  The driver requests an operation when its
instance is missing in a list, so successful ones cost no calls.

Running operations are in memory.  The driver finds operations that others have
started, such as a launcher that was killed, in the list of operations.

A zone without capacity is skipped for some time, so that nodes get to another
zone at once.
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

# Seconds between two searches for operations of others.  This is shorter than
# the time after which the framework gives up an instance that is not listed.
ADOPTION = 60
# Seconds for which a failure is reported.
MEMORY = 600
# Seconds for which a zone without capacity is skipped.
FULL = 300


class Insertions:
    """Tracks the operations that create instances.

    :param Client client:
    :param list_zones: returns the names of the zones of the region.
    """

    log = logging.getLogger('zuul.nodes.drivers.gce')

    def __init__(self, client, list_zones):
        self.client = client
        self.list_zones = list_zones
        self._lock = threading.Lock()
        # Id of an instance -> name of the operation.
        self._pending = {}
        # Id of an instance -> its zone and hardware (kind).
        self._kinds = {}
        # Kind -> time until which it is skipped.
        self._full = {}
        # Id of an instance -> its error, and time until which it is reported.
        self._failed = {}
        # Operations that have been evaluated.
        self._done = set()
        self._next_adoption = 0.0

    def addOperation(self, instance_id, operation, kind):
        """
        :param str operation: that creates the instance.
        :param kind: equal for instances that need the same capacity.
        """
        with self._lock:
            self._failed.pop(instance_id, None)
            self._pending[instance_id] = operation
            self._kinds[instance_id] = kind

    def isFull(self, kind):
        """:return: whether there was no capacity for a kind recently."""
        with self._lock:
            return time.monotonic() < self._full.get(kind, 0)

    def forgetInstance(self, instance_id):
        """Discard an instance that is being deleted."""
        with self._lock:
            self._failed.pop(instance_id, None)
            self._kinds.pop(instance_id, None)
            if operation := self._pending.pop(instance_id, None):
                self._done.add(operation)

    def getPending(self):
        """Get the running operations; call this before instances are listed.

        :return: id of an instance that the list may lack -> operation.
        """
        self._adopt()
        with self._lock:
            return dict(self._pending)

    def findFailures(self, pending, states):
        """
        :param dict pending: the operations before the list was requested.
        :param dict states: id -> State of the instances in the list.
        :return: yields an Instance for each that could not be created.
        """
        for instance_id, operation in pending.items():
            state = states.get(instance_id)
            if state is None:
                self._checkOperation(instance_id, operation)
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

    def _checkOperation(self, instance_id, name):
        try:
            operation = self.client.call(
                'ZoneOperations', 'get', operation=name,
                zone=instance_id.partition('/')[0])
        except DriverError as error:
            if not isMissing(error):
                raise
            self._end(instance_id, name)
        else:
            self._handleOperation(instance_id, operation)

    def _handleOperation(self, instance_id, operation):
        if operation.status == operation.Status.DONE:
            self._end(instance_id, operation.name, getFailure(operation))

    def _end(self, instance_id, name, error=None):
        with self._lock:
            # The instance may have been requested again meanwhile.
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
            self.log.info('Unable to create instance %s: %s',
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
            # Operations that are not listed any more are forgotten.
            self._done &= known
        self._next_adoption = time.monotonic() + ADOPTION

    def _adoptOne(self, instance_id, operation):
        with self._lock:
            if operation.name in self._done or instance_id in self._pending:
                return
            self._pending[instance_id] = operation.name
        self._handleOperation(instance_id, operation)

    def _list(self, zone):
        """:return: yields the operations of the last minutes that create
            resources, the newest first."""
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
