"""Recognizes the events of the launcher's own writes.

ZooKeeper sends the event of a write before its answer, in the order of all
writes.  So among the events of a path, one belongs to each of the launcher's
writes.  The content of these is known; only changes by others have to be read.
"""

import collections
import threading

from kazoo.protocol.states import EventType


class OwnWrites:
    """Counts the events that the launcher's own writes will cause.

    :ivar list caches: callbacks, called with a path that has to be read
        nevertheless.
    :ivar int connection: number of lost connections.
    """

    def __init__(self):
        self.caches = []
        self.connection = 0
        # Paths with a watch for the changes below them.
        self._watched = set()
        self._expected = collections.Counter()
        self._lock = threading.Lock()

    def watch(self, root, connection):
        """Note a new watch for the changes below a path.

        :param int connection: value of ``connection`` when the watch was
            requested; if a connection has been lost since, so has the watch.
        """
        with self._lock:
            if connection == self.connection:
                self._watched.add(f'{root}/')

    def isWatched(self, root):
        """:return: whether there is a watch for the changes below a path."""
        return f'{root}/' in self._watched

    def expect(self, paths):
        """Count the events of writes that are about to be sent.

        :param paths: the paths to write; a path that is created and deleted in
            one transaction is in it twice.
        """
        with self._lock:
            roots = tuple(self._watched)
            self._expected.update(
                path for path in paths if path.startswith(roots))

    def isOwn(self, event):
        """Count an event; to be called once for each.

        :return: whether the event belongs to an own write.
        """
        if event.type == EventType.NONE:
            # Not an event of ZooKeeper; the record is read anyway.
            return False
        with self._lock:
            if not self._expected.get(event.path):
                return False
            self._remove(event.path)
            return True

    def discard(self, paths):
        """Discard the events of writes that have failed or may have failed.

        Some of the events that counted as own may have belonged to other
        writers, so those paths are read again.
        """
        taken = []
        with self._lock:
            for path in paths:
                if self._expected.get(path):
                    self._remove(path)
                else:
                    taken.append(path)
        for path in taken:
            for reread in self.caches:
                reread(path)

    def clear(self):
        """Forget all counts after the loss of the connection.  Events resume
        with a new watch, for which everything is read."""
        with self._lock:
            self.connection += 1
            self._watched.clear()
            self._expected.clear()

    def _remove(self, path):
        self._expected[path] -= 1
        if not self._expected[path]:
            del self._expected[path]
