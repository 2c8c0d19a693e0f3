"""What a launcher has written itself need not be read.

ZooKeeper tells of a write before it answers it, in the order of all
writes.  So of what it tells about a path, one piece of news is ours for
each of our writes; what we have written is known, and only what others
write has to be read.
"""

import collections
import threading

from kazoo.protocol.states import EventType


class OwnWrites:
    """
    :ivar list caches: called with a path that has to be read after all.
    :ivar int connection: how many have been lost.
    """

    def __init__(self):
        self.caches = []
        self.connection = 0
        # Below these, ZooKeeper tells what is written.
        self._watched = set()
        self._expected = collections.Counter()
        self._lock = threading.Lock()

    def watch(self, root, connection):
        """From now on, there is news of what is below a path.

        :param int connection: with which that was asked for; if it is lost
            by now, there is none.
        """
        with self._lock:
            if connection == self.connection:
                self._watched.add(f'{root}/')

    def isWatched(self, root):
        """:return: whether there is news of what is below a path."""
        return f'{root}/' in self._watched

    def expect(self, paths):
        """
        :param paths: that are about to be written; one that is created and
            deleted at once is so twice.
        """
        with self._lock:
            roots = tuple(self._watched)
            self._expected.update(
                path for path in paths if path.startswith(roots))

    def isOwn(self, event):
        """:return: whether an event tells of what we have written; asked
            once for each."""
        if event.type == EventType.NONE:
            # It is not news: all is read.
            return False
        with self._lock:
            if not self._expected.get(event.path):
                return False
            self._remove(event.path)
            return True

    def discard(self, paths):
        """These were not written, or nobody knows; what we took for our
        news may have been of others."""
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
        """The connection is lost; there is no news until there is a watch
        again, and then all is read."""
        with self._lock:
            self.connection += 1
            self._watched.clear()
            self._expected.clear()

    def _remove(self, path):
        self._expected[path] -= 1
        if not self._expected[path]:
            del self._expected[path]
