"""Events that have jobs do something for an image, and that they were sent.

What was sent is on record, written along with the event: so it is sent
by one launcher, and once.  Whether it is still on its way is seen in Zuul's
own records (:mod:`zuul_nodes.launcher.trails`); if it is not, and what it
was for has not come about, it is sent again after a pause.
"""

import contextlib
import enum
import json
import time
import typing
import urllib.parse

from kazoo.exceptions import NoNodeError

from zuul_nodes.launcher.imagelook import KEY, LOOK_INTERVAL
from zuul_nodes.launcher.transactions import Conflict

ROOT = '/zuul/zuul-nodes/image-events'
# Seconds after which an event is sent again, each time twice as long.
FIRST_PAUSE = 300
LONGEST_PAUSE = 12 * 3600


class Kind(enum.StrEnum):
    """What events are sent for, and by what the records are named."""
    BUILD = 'image-build'  # the image's canonical name
    VALIDATE = 'image-validate'  # the id of the upload
    DELETE = 'image-delete'  # the id of the artifact


class Sent(typing.NamedTuple):
    """What is on record of an event."""
    tenant_name: str
    attempt: int
    time: float
    version: int

    @property
    def due(self):
        """When it may be sent again: seconds since the epoch."""
        pause = FIRST_PAUSE * 2 ** (self.attempt - 1)
        return self.time + min(pause, LONGEST_PAUSE)


class ImageEvents:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    """

    def __init__(self, launcher):
        self.launcher = launcher
        self.client = launcher.zk_client.client
        for kind in Kind:
            self.client.ensure_path(f'{ROOT}/{kind}')

    def add(self, transaction, kind, key, sent, tenant_name, event):
        """Send an event, and put that on record.

        :param Transaction transaction: that fails if another launcher has
            sent it.
        :param str key: see :class:`Kind`.
        :param Sent sent: what was sent last, as far as we know.
        :param ZuulTriggerEvent event:
        """
        data = json.dumps({
            'tenant': tenant_name, 'attempt': sent.attempt + 1 if sent else 1,
            'time': time.time()}).encode()
        transaction.write(
            _getPath(kind, key), data, sent.version if sent else None)
        transaction.trigger(self.launcher.trigger_events[tenant_name], event)

    def commit(self, transaction):
        """Write it, unless somebody else has written first."""
        try:
            transaction.commit()
        except Conflict:
            # Most likely another launcher has sent the event.
            self.lookLater()

    def get(self, kind, key):
        """:return: what was sent last, a :class:`Sent`, or None."""
        try:
            data, stat = self.client.get(_getPath(kind, key))
        except NoNodeError:
            return None
        content = json.loads(data)
        return Sent(content['tenant'], content['attempt'], content['time'],
                    stat.version)

    def getKeys(self, kind):
        """:return: a set of the keys of which there is a record."""
        return {urllib.parse.unquote_plus(name) for name in
                self.client.get_children(f'{ROOT}/{kind}')}

    def forget(self, kind, key):
        """There is nothing to be sent any more."""
        with contextlib.suppress(NoNodeError):
            self.client.delete(_getPath(kind, key))

    def isDue(self, sent):
        """
        :param Sent sent: or None.
        :return: whether an event may be sent (again).  If not, it is to be
            looked at again when it is.
        """
        pause = sent.due - time.time() if sent else 0
        if pause > 0:
            self.launcher.queue.addAfter(KEY, pause)
        return pause <= 0

    def lookLater(self):
        """Something is under way, and is watched; see to it anyway."""
        self.launcher.queue.addAfter(KEY, LOOK_INTERVAL)


def _getPath(kind, key):
    return f'{ROOT}/{kind}/{urllib.parse.quote_plus(key)}'
