"""The schedule of checks of images.

A change of any record or layout makes the launcher check all images.  Work
that is due later schedules another check.
"""

import contextlib
import functools
import logging
import time

from zuul_nodes.launcher.workers import getBackoff
from zuul_nodes.launcher.zookeeper import getCreationTime

# The key of the check in the work queue.
KEY = ('images', '')


class Schedule:
    """Schedules checks of all images.

    :param WorkQueue queue: gets the key of the check.
    :param Settings settings: has the intervals and back-offs.
    :param clock: returns seconds.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, queue, settings, clock=time.monotonic):
        self.queue = queue
        self.settings = settings
        self.clock = clock

    def checkSoon(self):
        """Check all images soon."""
        self.queue.add(KEY)

    def checkAfter(self, seconds):
        self.queue.addAfter(KEY, seconds)

    def checkLater(self):
        """Check again later, after an error or for a change that causes no
        event."""
        self.checkAfter(self.settings.image_interval)

    @contextlib.contextmanager
    def isolate(self, what):
        """Isolate errors: log them, and go on with the next object.

        :param what: a record or another description for the log.
        """
        try:
            yield
        except Exception:
            self.log.exception('Unable to check %s:', what)
            self.checkLater()

    def getBackoff(self, failures):
        """
        :param int failures: number of failures before the last one.
        :return: seconds until the next attempt; it doubles with each failure.
        """
        return getBackoff(failures, self.settings.image_first_backoff,
                          self.settings.image_longest_backoff)

    def isOver(self, pause):
        """Check whether a time has come, and schedule a check if not.

        :param float pause: seconds that are left.
        :return: whether none are left.
        """
        if pause > 0:
            self.checkAfter(pause)
        return pause <= 0

    def isOlder(self, record, age):
        """Check whether a record has an age, and schedule a check if not.

        :param ZKObject record: the record.
        :param float age: in seconds.
        :return: whether the record is old enough.
        """
        return self.isOver(getCreationTime(record) + age - time.time())


def getAge(recorded):
    """
    :param float recorded: a time in a record, in seconds since the epoch, of
        a clock that may have been wrong.
    :return: seconds since then.  A time in the future counts as the time at
        which this process saw it first.
    """
    age = time.time() - recorded
    if age >= 0:
        return age
    first = _seeFirst(recorded)
    return time.monotonic() - first


@functools.lru_cache(1024)
def _seeFirst(recorded):
    """:return: time of the first call with a value, of the monotonic clock.
    """
    return time.monotonic()
