"""What operators want of images, as launchers know it at any time."""

import urllib.parse

from zuul_nodes import imagecontrols
from zuul_nodes.imagecontrols import Control
from zuul_nodes.launcher.zookeeper import Entry, Interruptible


class Steering(Interruptible):
    """
    :param ZooKeeperClient zk_client:
    :param tell: called when something has changed.
    """

    def __init__(self, zk_client, tell):
        self.tell = tell
        super().__init__(zk_client, imagecontrols.ROOT)

    def isPaused(self, image_name):
        """:param str image_name: canonical."""
        return (Control.PAUSED, image_name) in self.entries

    def isKept(self, artifact_id):
        return (Control.KEPT, artifact_id) in self.entries

    def getKept(self):
        """:return: a set of the ids of artifacts."""
        return {key for control, key in list(self.entries)
                if control == Control.KEPT}

    def release(self, artifact_id):
        """There is nothing to be kept any more."""
        imagecontrols.remove(self.client, Control.KEPT, artifact_id)

    # What ZuulTreeCache asks for

    def parsePath(self, path):
        control, _, name = path[len(self.root) + 1:].partition('/')
        known = control in list(Control) and bool(name) and '/' not in name
        key = (control, urllib.parse.unquote_plus(name)) if known else None
        return key, known, None

    def objectFromRaw(self, key, data, stat):
        return Entry(stat)

    def updateFromRaw(self, obj, key, data, stat):
        obj.setStat(stat)

    def postCacheHook(self, event, data, stat, key, obj):
        self.tell()
