"""What becomes of requests and nodes, as seen in ZooKeeper."""

import json
import threading
import time

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType
from zuul.model import NodesetRequest
from zuul.zk.vendor.states import AddWatchMode

from zuul_nodes.launcher.zookeeper import dispatch

ANNOUNCED = 'announced'
BEGUN = 'begun'


class Records:
    """The states that records of one kind have come to, since it was made.

    One watch for all of them: what changes is read at once.  Requests are
    also in the state ANNOUNCED when the launcher has told the scheduler,
    and are not read any more; nodes are in the state BEGUN when their cloud
    has been asked for them.

    :param client: a started kazoo client of Zuul's.
    :param cls: the class of the records, of Zuul's model.
    :param str root: the path below which they are; it exists.
    :param event_types: the events after which a record is read.
    :ivar dict times: state -> id -> when it was first seen there, by
        ``time.perf_counter``.
    :ivar changed: a condition, notified of each new state.
    :ivar list listeners: called with each new state and the data.
    """

    def __init__(self, client, cls, root, event_types=(EventType.CHANGED,)):
        self.client = client
        self.cls = cls
        self.root = root
        self.event_types = event_types
        self.times = {ANNOUNCED: {}}
        self.changed = threading.Condition()
        self.listeners = []
        client.add_watch(root, self._handleEvent,
                         AddWatchMode.PERSISTENT_RECURSIVE)

    @dispatch.takenAtOnce
    def _handleEvent(self, event):
        if event.type not in self.event_types:
            return
        parent, _, record_id = event.path.rpartition('/')
        if parent != self.root or record_id in self.times[ANNOUNCED]:
            return
        self.client.get_async(event.path).rawlink(
            lambda result: self._handleResult(record_id, result))

    def _handleResult(self, record_id, result):
        now = time.perf_counter()
        try:
            raw, _ = result.get()
        except NoNodeError:
            return
        data = json.loads(self.cls._decompressData(raw)[1])
        states = {data['state']}
        if data.get('event_state') == NodesetRequest.EventState.COMPLETE:
            states.add(ANNOUNCED)
        if data.get('create_state'):
            states.add(BEGUN)
        with self.changed:
            states = {state for state in states
                      if record_id not in self.times.get(state, ())}
            for state in states:
                self.times.setdefault(state, {})[record_id] = now
            self.changed.notify_all()
        for state in states:
            for listener in self.listeners:
                listener(state, data)

    def get(self, state):
        """:return: id -> when it was first in that state; a copy."""
        with self.changed:
            return dict(self.times.get(state, {}))

    def describe(self):
        """:return: how many have come to which state, to be read."""
        return ', '.join(f'{len(times)} {state}'
                         for state, times in sorted(self.times.items()))

    def forget(self, state, record_id):
        """It is to be noticed when it comes to this state once more."""
        with self.changed:
            self.times.get(state, {}).pop(record_id, None)
