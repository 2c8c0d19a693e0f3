"""Follow the pods of this Zuul in the whole cluster with a watch.

A list has all pods, and a watch reports the changes since its version.  When
a watch ends or is cut, the next one continues at the last version; bookmarks
keep that version recent.  If it is too old, there is a new list.
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes

Without the permission to list or watch all pods, lists of namespaces are
polled instead.
"""

import json
import threading
import time

from zuul_nodes.drivers.kubernetes.errors import (
    Expired,
    Forbidden,
    makeError,
)
from zuul_nodes.drivers.kubernetes.meanings import Speaker, getRow
from zuul_nodes.drivers.kubernetes.pods import Pod


class PodWatch:
    """Watches the pods of this Zuul.

    :param Calls calls: of the adapter.
    :param Listing listing: of the pods, used without a watch.
    :cvar float duration: of a watch, in seconds.  A dead connection is
        detected a little later.
    :cvar float pause: minimum seconds between two watches.
    :cvar float forbidden_pause: seconds until the next attempt after one that
        was forbidden.
    :cvar float failure_timeout: seconds without an answer after which the
        known pods are out of date.
    :ivar str version: of the last known change; None without a list.
    """

    duration = 30
    pause = 1
    forbidden_pause = 60
    failure_timeout = 60

    def __init__(self, calls, listing, log):
        self.log = log
        self.version = None
        self._calls = calls
        self._listing = listing
        # (namespace, name) -> Pod
        self._pods = {}
        self._lock = threading.Lock()
        self._is_forbidden = False
        # Time of the first failure, by the monotonic clock, and last error.
        self._failing = self._error = None
        self._ended = threading.Event()
        self._stream = None
        self._thread = None

    @property
    def is_watching(self):
        return self._thread is not None and not self._is_forbidden

    def start(self):
        """Start to watch, unless the watch is running."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='PodWatch', daemon=True)
                self._thread.start()

    def find(self, since, namespace, name):
        """Find a pod, after :meth:`start`.

        :param float since: a time by the monotonic clock: the minimum age of
            polled lists.
        :return: whether the pods are known, and the pod; None if no pod of
            that name was reported.
        :raises Exception: the cluster has not answered for too long.
        """
        with self._lock:
            if not self._is_forbidden:
                if self._error and (time.monotonic() > self._failing
                                    + self.failure_timeout):
                    raise self._error
                return self.version is not None, self._pods.get(
                    (namespace, name))
        pods = self._listing.get(since)
        return pods is not None, next((
            pod for pod in pods or () if (pod.namespace, pod.name) == (
                namespace, name)), None)

    def stop(self):
        self._ended.set()
        with self._lock:
            if self._stream is not None:
                self._stream.end()

    def _run(self):
        while not self._ended.is_set():
            begun = time.monotonic()
            try:
                if self.version is None:
                    self._list()
                self._watch()
            except Expired as error:
                self.log.info('Listing pods again: %s', error)
                self.version = None
            except Forbidden as error:
                self.log.info('Polling pods for %s seconds: %s',
                              self.forbidden_pause, error)
                self.version = None
                self._is_forbidden = True
                self._ended.wait(self.forbidden_pause)
            except Exception as error:
                if not self._ended.is_set():
                    self._noteFailure(error)
            # Usually no time is left, because the watch lasted longer.
            self._ended.wait(begun + self.pause - time.monotonic())

    def _list(self):
        pods, version = self._calls.call('readPods')
        with self._lock:
            self._pods = {(pod.namespace, pod.name): pod
                          for pod in map(Pod, pods)}
            self.version = version

    def _watch(self):
        stream = Stream(self._calls.call(
            'watchPods', self.version, self.duration))
        with self._lock:
            self._stream = stream
            self._is_forbidden = False
            self._error = None
        if self._ended.is_set():
            stream.end()
        for kind, thing in stream:
            self._handleEvent(kind, thing)

    def _handleEvent(self, kind, thing):
        if kind == 'ERROR':
            message = thing.get('message')
            raise makeError(getRow(
                Speaker.SERVER, thing.get('code', ''), thing.get('reason'),
                message), message)
        with self._lock:
            if kind != 'BOOKMARK':
                pod = Pod(thing)
                key = pod.namespace, pod.name
                if kind == 'DELETED':
                    self._pods.pop(key, None)
                else:
                    self._pods[key] = pod
            self.version = thing['metadata']['resourceVersion']

    def _noteFailure(self, error):
        self.log.warning('Unable to watch pods: %s', error)
        with self._lock:
            if self._error is None:
                self._failing = time.monotonic()
            self._error = error


class Stream:
    """Reads the events of a watch.

    :param response: of urllib3, whose lines are events.
    """

    def __init__(self, response):
        self._response = response

    def __iter__(self):
        """:return: yields the kind of each event, and its object."""
        rest = b''
        try:
            for part in self._response.stream():
                *lines, rest = (rest + part).split(b'\n')
                for line in filter(None, lines):
                    event = json.loads(line)
                    yield event['type'], event['object']
        finally:
            self._response.close()

    def end(self):
        """End the stream, even while it waits for data."""
        try:
            self._response.shutdown()
        except (RuntimeError, ValueError, OSError):
            # The stream has ended by itself.
            self._response.close()
