"""What a watch tells of the pods of this Zuul, in the whole cluster.

A list says what there is, and from its version on a watch says what changes.
A watch that has come to its end, or is cut, goes on where it was; bookmarks
keep that place from growing too old.  If it has, there is a list again.
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes

Who may not list or watch all pods polls lists, where pods are.
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

# Seconds that a watch lasts.  A connection that is dead without a word is
# noticed a little later.
DURATION = 30
# Seconds from one attempt to the next, and after one that was forbidden.
PAUSE = 1
FORBIDDEN = 60
# Seconds for which what is known is good while the cluster tells nothing.
BLIND = 60


class PodWatch:
    """
    :param Calls calls: to the adapter.
    :param Listing listing: of the pods, where there is no watch.
    :ivar float pause: seconds from one watch to the next, at least.
    :ivar str version: up to which changes are known; None if they are not.
    """

    def __init__(self, calls, listing, log):
        self.log = log
        self.pause = PAUSE
        self.version = None
        self._calls = calls
        self._listing = listing
        # (namespace, name) -> Pod
        self._pods = {}
        self._lock = threading.Lock()
        self._is_forbidden = False
        # Since when it fails, by the monotonic clock, and how.
        self._failing = self._error = None
        self._ended = threading.Event()
        self._stream = None
        self._thread = None

    @property
    def is_watching(self):
        return self._thread is not None and not self._is_forbidden

    def start(self):
        """Begin to watch, if that is not so yet."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='PodWatch', daemon=True)
                self._thread.start()

    def find(self, since, namespace, name):
        """Find a pod, after :meth:`start`.

        :param float since: a time by the monotonic clock.  Lists that are
            polled are at least as new.
        :return: whether it is known what pods there are, and the pod, or
            None if there is none as far as has been told.
        :raises Exception: the cluster has told nothing for long.
        """
        with self._lock:
            if not self._is_forbidden:
                if self._error and time.monotonic() > self._failing + BLIND:
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
                self.log.info('Pods are listed again: %s', error)
                self.version = None
            except Forbidden as error:
                self.log.info('Pods are polled for %s seconds: %s',
                              FORBIDDEN, error)
                self.version = None
                self._is_forbidden = True
                self._ended.wait(FORBIDDEN)
            except Exception as error:
                if not self._ended.is_set():
                    self._noteFailure(error)
            # Most watches have lasted longer than that.
            self._ended.wait(begun + self.pause - time.monotonic())

    def _list(self):
        pods, version = self._calls.call('readPods')
        with self._lock:
            self._pods = {(pod.namespace, pod.name): pod
                          for pod in map(Pod, pods)}
            self.version = version

    def _watch(self):
        stream = Stream(self._calls.call(
            'watchPods', self.version, DURATION))
        with self._lock:
            self._stream = stream
            self._is_forbidden = False
            self._error = None
        if self._ended.is_set():
            stream.end()
        for kind, thing in stream:
            self._note(kind, thing)

    def _note(self, kind, thing):
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
    """
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
        """Have it come to its end, wherever it waits."""
        try:
            self._response.shutdown()
        except (RuntimeError, ValueError, OSError):
            # It has ended by itself.
            self._response.close()
