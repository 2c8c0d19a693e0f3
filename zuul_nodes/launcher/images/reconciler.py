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
# Seconds until what went wrong is tried again, or until something is looked
# at of which nobody may tell that it has changed.
LOOK_INTERVAL = 60
# Seconds until what has come to nothing is tried again, and at most.
FIRST_PAUSE = 300
LONGEST_PAUSE = 12 * 3600

log = logging.getLogger('zuul.nodes.images')


class ImagePart:
    """One of those that look after images.

    :param launcher: see :class:`zuul_nodes.launcher.images.common.Images`.
    :param ImageEvents events: what jobs are asked to do.
    :param ImagePipelines pipelines: what there is for it.
    :param Tenants tenants: who can do it.
    :param EventTracker event_tracker: where that is.
    """

    log = log

    def __init__(self, launcher, events, pipelines, tenants, event_tracker):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.uploads = launcher.image_upload_registry
        self.events = events
        self.pipelines = pipelines
        self.tenants = tenants
        self.event_tracker = event_tracker


@contextlib.contextmanager
def alone(launcher, what):
    """What goes wrong with one thing does not concern others.

    :param what: a record, or what else a log can name.
    """
    try:
        yield
    except Exception:
        log.exception('Unable to look after %s:', what)
        launcher.queue.addAfter(KEY, LOOK_INTERVAL)


def getPause(failures):
    """
    :param int failures: how many there have been before the last one.
    :return: seconds; each pause is twice as long as the last.
    """
    return min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE)


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


def isOver(launcher, pause):
    """
    :param float pause: seconds that are left of it.
    :return: whether it is over.  If not, images are looked at when it is.
    """
    if pause > 0:
        launcher.queue.addAfter(KEY, pause)
    return pause <= 0


def isOlder(launcher, record, age):
    """
    :param ZKObject record:
    :param float age: in seconds.
    :return: whether the record has been there for so long; as
        :func:`isOver`.
    """
    return isOver(launcher, getCreationTime(record) + age - time.time())


def groupByArtifact(registry):
    """:return: the id of each artifact -> a list of its uploads."""
    uploads = collections.defaultdict(list)
    for upload in registry.getItems():
        uploads[upload.artifact_uuid].append(upload)
    return uploads
