"""Events that a scheduler gets, one by one, and how long each takes."""

import random
import threading
import time

from kazoo.protocol.states import EventType
from zuul.model import EnqueueEvent
from zuul.zk.event_queues import TenantManagementEventQueue
from zuul.zk.vendor.states import AddWatchMode

from tests.bench.scheduling.repository import PIPELINE, PROJECT, TENANT
from zuul_nodes.quickstart.failure import Failure

ITEMS = f'/zuul/tenant/{TENANT}/pipeline/{PIPELINE}/item'
HOSTNAME = 'localhost'
# Between two events (seconds), so that they come at any time.
PAUSE = (0.05, 0.15)


class Events:
    """
    :param Zuul zuul: whose scheduler gets them.
    """

    def __init__(self, zuul):
        self.zuul = zuul
        self.queue = TenantManagementEventQueue(zuul.zk_client, TENANT)
        self._number = 0
        self._end = None
        self._ended = threading.Event()
        zuul.zk_client.client.add_watch(
            ITEMS, self._handleChange, AddWatchMode.PERSISTENT_RECURSIVE)

    def _handleChange(self, change):
        if (change.type == EventType.DELETED
                and change.path.rpartition('/')[0] == ITEMS):
            self._end = time.perf_counter()
            self._ended.set()

    def send(self, timeout=10):
        """Have a tag enqueued.

        :return: metric -> how long it took, in seconds.
        """
        time.sleep(random.uniform(*PAUSE))
        self._number += 1
        event = EnqueueEvent(
            TENANT, PIPELINE, HOSTNAME, PROJECT,
            ref=f'refs/tags/{self._number}', oldrev='0' * 40,
            newrev=f'{self._number:040x}')
        self._ended.clear()
        begin = time.perf_counter()
        # It raises an error if the scheduler had one.
        handled = self.queue.put(event).wait(timeout)
        handled_time = time.perf_counter() - begin
        if not (handled and self._ended.wait(timeout)):
            raise Failure(f'an event takes more than {timeout} s',
                          self.zuul.scheduler.log_file)
        return {'handled': handled_time, 'through': self._end - begin}
