"""Lists of servers, of which Nova is asked for the changes only.

Compute API, "List Servers Detailed", ``changes-since``; such a list has
deleted servers, too:
https://docs.openstack.org/api-ref/compute/#list-servers-detailed

Not all that a list shows counts as a change of a server: its addresses do
not, nor does its metadata.  And Nova forgets deleted servers some day.  So
there is a whole list from time to time.
"""

import dataclasses
import datetime
import email.utils
import logging
import threading
import time

from openstack import exceptions

from zuul_nodes.drivers.openstack.cloud.pages import getPages

PATH = '/servers/detail'
# Seconds after which the whole list is asked for.
WHOLE = 300
# Seconds that the clocks of a cloud's services may differ, and that a change
# may take until it is in a list.
OVERLAP = 60
# Of what is no server any more, but in a list of changes.
GONE = ('DELETED', 'SOFT_DELETED')


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """
    :ivar dict servers: id -> server, as Nova shows it.
    :ivar float begun: when the list was asked for, by the monotonic clock.
    :ivar float whole: the same, for the last whole list.
    :ivar datetime date: the cloud's, when the answer was made; None if it
        does not tell.
    """

    servers: dict
    begun: float
    whole: float
    date: datetime.datetime | None


class Servers:
    """
    :param clock: gives seconds.
    """

    log = logging.getLogger('zuul.nodes.drivers.openstack')

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self._lock = threading.Lock()
        self._last = None
        self._knows_changes = True

    def list(self, proxy, microversion):
        """
        :param proxy: of openstacksdk, for Nova.
        :return: a list of all servers of the project, as Nova shows them.
        :raises HttpException: Nova has refused it.
        """
        last, begun = self._last, self.clock()
        if (last is None or last.date is None or not self._knows_changes
                or begun >= last.whole + WHOLE):
            return self._keep(self._ask(proxy, microversion, begun))
        try:
            return self._keep(self._ask(proxy, microversion, begun, last))
        except exceptions.BadRequestException as error:
            self.log.warning('The cloud does not list changes of servers; '
                             'it is asked for all: %s', error)
            self._knows_changes = False
            return self._keep(self._ask(proxy, microversion, begun))

    def _ask(self, proxy, microversion, begun, last=None):
        """
        :param Snapshot last: whose changes are asked for; None for all.
        :return: a new Snapshot.
        """
        dates = []
        query = {'changes-since': (
            last.date - datetime.timedelta(seconds=OVERLAP)
        ).strftime('%Y-%m-%dT%H:%M:%SZ')} if last else {}
        servers = dict(last.servers) if last else {}
        for server in getPages(proxy, PATH, 'servers', microversion, query,
                               lambda answer: dates.append(_getDate(answer))):
            if server['status'] in GONE:
                servers.pop(server['id'], None)
            else:
                servers[server['id']] = server
        # Of the first page: what has changed since is in the next list.
        return Snapshot(servers, begun, last.whole if last else begun,
                        dates[0])

    def _keep(self, snapshot):
        with self._lock:
            # Another thread may have been quicker, and know more.
            if self._last is None or self._last.begun <= snapshot.begun:
                self._last = snapshot
        return list(snapshot.servers.values())


def _getDate(response):
    """:return: when an answer was made, by the cloud's clock, or None."""
    try:
        return email.utils.parsedate_to_datetime(
            response.headers['Date']).astimezone(datetime.UTC)
    except (KeyError, TypeError, ValueError):
        return None
