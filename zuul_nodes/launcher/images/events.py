"""Events that have jobs do something for an image, and that they were sent.

A launcher records an event in the transaction that sends it, so one launcher
sends it, and once.  Zuul's own records say whether the event is still on its
way (:mod:`zuul_nodes.launcher.images.eventtracker`).  If it is not, and its
purpose is not fulfilled, the launcher sends it again after a pause.  An event
that something else has sent counts like one of ours.
"""

import enum
import json
import logging
import time
import typing

from kazoo.exceptions import NoNodeError

from zuul_nodes import zkrecords
from zuul_nodes.launcher.images.schedule import getAge
from zuul_nodes.launcher.zookeeper import Conflict

ROOT = '/zuul/zuul-nodes/image-events'


class EventKind(enum.StrEnum):
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


class ImageEvents:
    """
    :param Session session: in which they are sent.
    :param Schedule schedule: when they may be sent again.
    :param driver: of Zuul's, that makes them.
    :param trigger_events: tenant -> its queue of events.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, session, schedule, driver, trigger_events):
        self.session = session
        self.schedule = schedule
        self.driver = driver
        self.trigger_events = trigger_events
        self.client = session.client
        for kind in EventKind:
            self.client.ensure_path(f'{ROOT}/{kind}')

    def add(self, transaction, kind, key, sent, tenant_name, name, project,
            branch):
        """Send an event, and put that on record.

        :param Transaction transaction: that fails if another launcher has
            sent it.
        :param str key: see :class:`EventKind`.
        :param Sent sent: what was sent last, as far as we know.
        :param str name: of the image.
        :param str project: of the image, its canonical name.
        :param str branch: of the image.
        """
        hostname, _, project_name = project.partition('/')
        image = [name], hostname, project_name, branch
        event = {
            EventKind.BUILD: lambda: self.driver.getImageBuildEvent(*image),
            EventKind.VALIDATE:
                lambda: self.driver.getImageValidateEvent(*image, key),
            EventKind.DELETE:
                lambda: self.driver.getImageDeleteEvent(*image, key),
        }[kind]()
        self.log.info('Submitting the event %s of %s to the tenant %s',
                      kind, key, tenant_name)
        _write(transaction, kind, key, sent, tenant_name,
               sent.attempt + 1 if sent else 1)
        transaction.trigger(self.trigger_events[tenant_name], event)

    def noteUnderWay(self, kind, key, sent, tenant_name):
        """Put on record that what an event is for is being done, whoever
        asked for it: the pause after it begins when it has ended.

        :param Sent sent: what is on record, as far as we know, or None.
        :param str tenant_name: where that is.
        """
        if sent and (getAge(sent.time)
                     < self.schedule.settings.image_interval):
            return
        transaction = self.session.transaction()
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
            self.schedule.lookLater()

    def get(self, kind, key):
        """:return: what was sent last, a :class:`Sent`, or None."""
        try:
            data, stat = self.client.get(getEventPath(kind, key))
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
        zkrecords.delete(self.client, getEventPath(kind, key))

    def isDue(self, sent):
        """
        :param Sent sent: or None.
        :return: whether an event may be sent (again).  If not, it is to be
            looked at again when it is.
        """
        return sent is None or self.schedule.isOver(
            self.schedule.getPause(sent.attempt - 1) - getAge(sent.time))


def _write(transaction, kind, key, sent, tenant_name, attempt):
    """Replace what is on record, a :class:`Sent` or None."""
    data = json.dumps({'tenant': tenant_name, 'attempt': attempt,
                       'time': time.time()}).encode()
    transaction.write(
        getEventPath(kind, key), data, sent.version if sent else None)


def getEventPath(kind, key):
    """:return: the path of what is on record of an event."""
    return zkrecords.getPath(ROOT, kind, key)
