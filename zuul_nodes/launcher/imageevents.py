"""Events that have jobs do something for an image, and that they were sent.

What was sent is on record, written along with the event: so it is sent
by one launcher, and once.  Whether it is still on its way is seen in Zuul's
own records (:mod:`zuul_nodes.launcher.trails`); if it is not, and what it
was for has not come about, it is sent again after a pause.  What somebody
else has asked for counts like an event of ours.
"""

import enum
import json
import logging
import time
import typing

from kazoo.exceptions import NoNodeError

from zuul_nodes import zkrecords
from zuul_nodes.launcher.imagelook import (
    KEY,
    LOOK_INTERVAL,
    getAge,
    getPause,
    isOver,
)
from zuul_nodes.launcher.transactions import Conflict

ROOT = '/zuul/zuul-nodes/image-events'


class Kind(enum.StrEnum):
    """What events are sent for, and by what the records are named."""
    BUILD = 'image-build'  # the image's canonical name
    VALIDATE = 'image-validate'  # the id of the upload
    DELETE = 'image-delete'  # the id of the artifact


class Sent(typing.NamedTuple):
    """What is on record of an event."""
    tenant_name: str
    attempt: int
    # When it was sent, or what it is for was last seen under way.
    time: float
    version: int

    @property
    def pause(self):
        """Seconds after which it may be sent again."""
        return getPause(self.attempt - 1)


class ImageEvents:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, launcher):
        self.launcher = launcher
        self.client = launcher.zk_client.client
        for kind in Kind:
            self.client.ensure_path(f'{ROOT}/{kind}')

    def add(self, transaction, kind, key, sent, tenant_name, name, project,
            branch):
        """Send an event, and put that on record.

        :param Transaction transaction: that fails if another launcher has
            sent it.
        :param str key: see :class:`Kind`.
        :param Sent sent: what was sent last, as far as we know.
        :param str name: of the image.
        :param str project: of the image, its canonical name.
        :param str branch: of the image.
        """
        driver = self.launcher.connections.drivers['zuul']
        hostname, _, project_name = project.partition('/')
        image = [name], hostname, project_name, branch
        event = {
            Kind.BUILD: lambda: driver.getImageBuildEvent(*image),
            Kind.VALIDATE: lambda: driver.getImageValidateEvent(*image, key),
            Kind.DELETE: lambda: driver.getImageDeleteEvent(*image, key),
        }[kind]()
        self.log.info('Submitting the event %s of %s to the tenant %s',
                      kind, key, tenant_name)
        _write(transaction, kind, key, sent, tenant_name,
               sent.attempt + 1 if sent else 1)
        transaction.trigger(self.launcher.trigger_events[tenant_name], event)

    def noteUnderWay(self, kind, key, sent, tenant_name):
        """Put on record that what an event is for is being done, whoever
        asked for it: the pause after it begins when it has ended.

        :param Sent sent: what is on record, as far as we know, or None.
        :param str tenant_name: where that is.
        """
        if sent and getAge(sent.time) < LOOK_INTERVAL:
            return
        transaction = self.launcher.store.transaction()
        # Whose turn it is next is for those who were asked to say.
        _write(transaction, kind, key, sent,
               sent.tenant_name if sent else tenant_name,
               sent.attempt if sent else 1)
        self.commit(transaction)

    def commit(self, transaction):
        """Write it, unless somebody else has written first."""
        try:
            transaction.commit()
        except Conflict:
            # Most likely another launcher has written the same.
            self.lookLater()

    def get(self, kind, key):
        """:return: what was sent last, a :class:`Sent`, or None."""
        try:
            data, stat = self.client.get(getPath(kind, key))
        except NoNodeError:
            return None
        content = json.loads(data)
        return Sent(content['tenant'], content['attempt'], content['time'],
                    stat.version)

    def getKeys(self, kind):
        """:return: a set of the keys of which there is a record."""
        return zkrecords.getNames(self.client, f'{ROOT}/{kind}')

    def forget(self, kind, key):
        """There is nothing to be sent any more."""
        zkrecords.delete(self.client, getPath(kind, key))

    def isDue(self, sent):
        """
        :param Sent sent: or None.
        :return: whether an event may be sent (again).  If not, it is to be
            looked at again when it is.
        """
        return sent is None or isOver(
            self.launcher, sent.pause - getAge(sent.time))

    def lookLater(self):
        """Something is under way, and is watched; see to it anyway."""
        self.launcher.queue.addAfter(KEY, LOOK_INTERVAL)


def _write(transaction, kind, key, sent, tenant_name, attempt):
    """Replace what is on record, a :class:`Sent` or None."""
    data = json.dumps({'tenant': tenant_name, 'attempt': attempt,
                       'time': time.time()}).encode()
    transaction.write(
        getPath(kind, key), data, sent.version if sent else None)


def getPath(kind, key):
    """:return: the path of what is on record of an event."""
    return zkrecords.getPath(ROOT, kind, key)
