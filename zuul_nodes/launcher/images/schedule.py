"""When the launcher looks at images.

It looks at all of them at once, whenever a record or a layout has changed.
What is to be seen to later has it look once more.
"""

import collections
import contextlib
import functools
import logging
import time

from zuul_nodes.launcher.zookeeper import getCreationTime

# What the work queue calls it.
KEY = ('images', '')


class Schedule:
    """
    :param WorkQueue queue: where images are looked at.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, queue, settings):
        self.queue = queue
        self.settings = settings

    def tell(self):
        """Images are to be looked at soon."""
        self.queue.add(KEY)

    def lookAfter(self, seconds):
        self.queue.addAfter(KEY, seconds)

    def lookLater(self):
        """Look again at what has gone wrong, or at something of which nobody
        may tell that it has changed."""
        self.lookAfter(self.settings.image_interval)

    @contextlib.contextmanager
    def alone(self, what):
        """What goes wrong with one thing does not concern others.

        :param what: a record, or what else a log can name.
        """
        try:
            yield
        except Exception:
            self.log.exception('Unable to look after %s:', what)
            self.lookLater()

    def getPause(self, failures):
        """
        :param int failures: how many there have been before the last one.
        :return: seconds; each pause is twice as long as the last.
        """
        return min(self.settings.image_first_pause * 2 ** failures,
                   self.settings.image_longest_pause)

    def isOver(self, pause):
        """
        :param float pause: seconds that are left of it.
        :return: whether it is over.  If not, images are looked at when it is.
        """
        if pause > 0:
            self.lookAfter(pause)
        return pause <= 0

    def isOlder(self, record, age):
        """
        :param ZKObject record:
        :param float age: in seconds.
        :return: whether the record has been there for so long; as
            :meth:`isOver`.
        """
        return self.isOver(getCreationTime(record) + age - time.time())


def getAge(recorded):
    """
    :param float recorded: a time that a record says, in seconds since the
        epoch, by a clock that may have been wrong.
    :return: seconds since then.  A time that is still to come counts as
        the one at which it was first seen here.
    """
    age = time.time() - recorded
    if age >= 0:
        return age
    first = _seeFirst(recorded)
    return time.monotonic() - first


@functools.lru_cache(1024)
def _seeFirst(recorded):
    """:return: when this was called first, by the monotonic clock."""
    return time.monotonic()


def groupByArtifact(registry):
    """:return: the id of each artifact -> a list of its uploads."""
    uploads = collections.defaultdict(list)
    for upload in registry.getItems():
        uploads[upload.artifact_uuid].append(upload)
    return uploads
