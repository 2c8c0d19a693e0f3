"""When the launcher looks at images.

It looks at all of them at once, whenever a record or a layout has changed.
What is to be seen to later has it look once more.
"""

import contextlib
import logging
import time

# What the work queue calls it.
KEY = ('images', '')
# Seconds until what went wrong is tried again, or until something is looked
# at of which nobody may tell that it has changed.
LOOK_INTERVAL = 60

log = logging.getLogger('zuul.Launcher')


class ImagePart:
    """One of those that look after images.

    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    :param ImageEvents events: what jobs are asked to do.
    :param ImagePipelines pipelines: what there is for it.
    :param Trails trails: where that is.
    """

    log = log

    def __init__(self, launcher, events, pipelines, trails):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.uploads = launcher.image_upload_registry
        self.events = events
        self.pipelines = pipelines
        self.trails = trails


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


def isOlder(launcher, record, age):
    """
    :param ZKObject record:
    :param float age: in seconds.
    :return: whether the record has been there for so long.  If not, it is
        to be looked at again when it has.
    """
    pause = record._zstat.created + age - time.time()
    if pause > 0:
        launcher.queue.addAfter(KEY, pause)
    return pause <= 0
