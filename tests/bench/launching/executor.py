"""Executors that give their nodes back as soon as they have them."""

import contextlib
import json
import queue
import threading
import time

from kazoo.exceptions import NoNodeError, NotEmptyError
from zuul.model import NodesetRequest, ProviderNode

from tests.bench.launching.records import ANNOUNCED

# Without ZooKeeper it would wait for ever.
JOIN_TIMEOUT = 10


class Executors:
    """Uses the nodes of each request that is announced, and asks anew.

    It writes to ZooKeeper what Zuul's client writes, but for many requests
    at once, and reads next to nothing: it is to be quicker than what it is
    there to measure.

    :param Stage stage: of which it takes the requests.
    :ivar Exception failure: why it has stopped, or None.
    """

    def __init__(self, stage):
        self.stage = stage
        self.client = stage.client
        self.failure = None
        self._queue = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._run, name='executors', daemon=True)

    def __enter__(self):
        self.stage.requests.listeners.append(self._handleState)
        self._thread.start()
        return self

    def __exit__(self, *args):
        self.stage.requests.listeners.remove(self._handleState)
        self._queue.put(None)
        self._thread.join(JOIN_TIMEOUT)

    def _handleState(self, state, data):
        if state == ANNOUNCED:
            self._queue.put(data)

    def _run(self):
        try:
            while True:
                requests = [self._queue.get()]
                while not self._queue.empty():
                    requests.append(self._queue.get())
                if None in requests:
                    return
                self._use(requests)
        except Exception as error:
            self.failure = error

    def _use(self, requests):
        nodes = [data['uuid'] for request in requests
                 for data in request['provider_node_data']]
        lock_paths = [f'{ProviderNode.ROOT}/{ProviderNode.LOCKS_PATH}/{node}'
                      for node in nodes]
        locks = [self.client.create_async(
            f'{path}/executor__lock__', ephemeral=True, sequence=True)
            for path in lock_paths]
        contents = [self.client.get_async(ProviderNode._getPath(node))
                    for node in nodes]
        results = [self.client.delete_async(
            NodesetRequest._getPath(request['uuid']))
            for request in requests]
        for node, lock, content in zip(nodes, locks, contents, strict=True):
            raw, _ = content.get()
            path = ProviderNode._getPath(node)
            # What is sent in this order is done in this order.
            results += [
                self.client.set_async(path, setState(raw, state))
                for state in (ProviderNode.State.IN_USE,
                              ProviderNode.State.USED)]
            results.append(self.client.delete_async(lock.get()))
        for result in results:
            result.get()
        self.stage.addRequests(len(requests))
        self._deleteLocks(
            f'{NodesetRequest.ROOT}/{NodesetRequest.LOCKS_PATH}/'
            f'{request["uuid"]}' for request in requests)

    def _deleteLocks(self, paths):
        results = {path: self.client.delete_async(path) for path in paths}
        for path, result in results.items():
            # A launcher may do so itself.
            with contextlib.suppress(NoNodeError):
                try:
                    result.get()
                except NotEmptyError:
                    # The launcher is about to let go of it.
                    self.client.delete(path, recursive=True)


def setState(raw, state):
    """
    :param bytes raw: the record of a node.
    :return: the same in another state.
    """
    data = json.loads(ProviderNode._decompressData(raw)[1])
    data.update(state=state, state_time=time.time())
    subclass_id, _, _ = raw.partition(b'\0')
    return ProviderNode._subclasses[subclass_id]._compressData(
        json.dumps(data, sort_keys=True).encode())
