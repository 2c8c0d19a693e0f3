"""The cache of operators' requests about images and builds."""

import urllib.parse

from zuul_nodes import imagecontrols
from zuul_nodes.imagecontrols import Control
from zuul_nodes.launcher.zookeeper import Entry, Interruptible


class Steering(Interruptible):
    """Caches the requests of operators about images.

    :param ZooKeeperClient zk_client: of the launcher.
    :param notify: called when a request has changed.
    """

    def __init__(self, zk_client, notify):
        self.notify = notify
        super().__init__(zk_client, imagecontrols.ROOT)

    def isPaused(self, image_name):
        """:param str image_name: canonical name."""
        return (Control.PAUSED, image_name) in self.entries

    def isKept(self, artifact_id):
        return (Control.KEPT, artifact_id) in self.entries

    def getKept(self):
        """:return: a set of the ids of artifacts to keep."""
        return self._getKeys(Control.KEPT)

    def getOrdered(self):
        """:return: a set of the canonical names of images to build."""
        return self._getKeys(Control.ORDERED)

    def _getKeys(self, wanted):
        return {key for control, key in list(self.entries)
                if control == wanted}

    def release(self, artifact_id):
        """Remove the request to keep an artifact that is gone."""
        imagecontrols.remove(self.client, Control.KEPT, artifact_id)

    # The interface of ZuulTreeCache

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
        self.notify()
