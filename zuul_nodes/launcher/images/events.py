"""Events that make jobs work on an image, with records of what was sent.

A launcher records an event in the transaction that sends it, so only one
launcher sends it, and only once.  Zuul's own records show whether the event is
still on its way (:mod:`zuul_nodes.launcher.images.eventtracker`).  If it is
not, and its purpose is not fulfilled, the launcher sends it again after a
back-off.  An event from another source counts like one of the launcher.
"""

import logging
import time

from zuul_nodes import imageevents, zkrecords
from zuul_nodes.imageevents import EventKind, Sent
from zuul_nodes.launcher.images.schedule import getAge
from zuul_nodes.launcher.zookeeper import Conflict, Names


class ImageEvents:
    """Sends events and records them.

    :param Session session: for transactions.
    :param Schedule schedule: of checks and back-offs.
    :param driver: Zuul's driver, which creates the events.
    :param trigger_events: tenant -> its queue of trigger events.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, session, schedule, driver, trigger_events):
        self.session = session
        self.schedule = schedule
        self.driver = driver
        self.trigger_events = trigger_events
        self.client = session.client
        for kind in EventKind:
            self.client.ensure_path(f'{imageevents.ROOT}/{kind}')
        self._keys = {kind: Names(self.client, f'{imageevents.ROOT}/{kind}')
                      for kind in EventKind}

    def addEvent(self, transaction, kind, key, sent, tenant_name, name,
                 project, branch, problem=None):
        """Send an event and record it, in a transaction.

        :param Transaction transaction: fails if another launcher has sent the
            event.
        :param str key: see :class:`.imageevents.EventKind`.
        :param Sent sent: the last record, or None.
        :param str tenant_name: the tenant that gets the event.
        :param str name: of the image.
        :param str project: canonical name of the image's project.
        :param str branch: of the image.
        :param str problem: as that of the record.
        """
        _write(transaction, kind, key, sent, tenant_name,
               sent.attempt + 1 if sent else 1, problem)
        self.send(transaction, kind, key, tenant_name, name, project, branch)

    def send(self, transaction, kind, key, tenant_name, name, project,
             branch):
        """As :meth:`addEvent`, without a record of the event."""
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
        transaction.trigger(self.trigger_events[tenant_name], event)

    def noteUnderWay(self, kind, key, sent, tenant_name):
        """Record that the purpose of an event is being fulfilled.

        The cause of that does not matter.  The back-off begins when it has
        ended.

        :param Sent sent: the last record, or None.
        :param str tenant_name: the tenant whose job does it.
        """
        if sent and (getAge(sent.time)
                     < self.schedule.settings.image_interval):
            return
        transaction = self.session.transaction()
        # Keep the tenant that was asked, so that the next one has its turn.
        _write(transaction, kind, key, sent,
               sent.tenant_name if sent else tenant_name,
               sent.attempt if sent else 1, sent and sent.problem)
        self.commit(transaction)

    def commit(self, transaction):
        """Commit, unless another launcher has written the record first."""
        try:
            transaction.commit()
        except Conflict:
            # Most likely another launcher has written the same.
            self.schedule.checkLater()

    def get(self, kind, key):
        """:return: the last record, a :class:`Sent`, or None."""
        if key not in self.getKeys(kind):
            return None
        return imageevents.read(self.client, kind, key)

    def isUnderWay(self, kind, key):
        """:return: whether the purpose of an event is being fulfilled, as far
            as launchers have seen lately."""
        sent = self.get(kind, key)
        # As often as they look, with some time for each look.
        return sent is not None and getAge(
            sent.time) < 2 * self.schedule.settings.image_interval

    def getKeys(self, kind):
        """:return: a set of the keys that have a record."""
        return self._keys[kind].get()

    def forgetEvent(self, kind, key):
        """Remove the record of an event that is no longer needed."""
        zkrecords.delete(self.client, imageevents.getPath(kind, key))

    def isDue(self, sent):
        """Check whether an event may be sent, or sent again.

        If not, a check is scheduled for the time when it may.

        :param Sent sent: the last record, or None.
        :return: whether it may be sent now.
        """
        return sent is None or self.schedule.isOver(
            self.schedule.getBackoff(sent.attempt - 1) - getAge(sent.time))


def _write(transaction, kind, key, sent, tenant_name, attempt, problem=None):
    """Replace the record of an event.

    :param Sent sent: the last record, or None.
    """
    data = imageevents.makeRecord(Sent(
        tenant_name, attempt, time.time(), 0, problem=problem))
    transaction.write(imageevents.getPath(kind, key), data,
                      sent.version if sent else None)
