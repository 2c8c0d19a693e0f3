"""Lists of servers, updated with the changes that Nova reports.

Compute API, "List Servers Detailed", ``changes-since``; such a list contains
deleted servers:
https://docs.openstack.org/api-ref/compute/#list-servers-detailed

A change of the addresses or the metadata of a server does not count as a
change in Nova, and Nova forgets deleted servers after some time.  So the
driver requests a complete list from time to time.
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
# Seconds after which a complete list is requested.
WHOLE = 300
# Maximum seconds by which the clocks of a cloud's services differ, plus the
# delay of a change in a list.
OVERLAP = 60
# Status of deleted servers in a list of changes.
GONE = ('DELETED', 'SOFT_DELETED')


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """
    :ivar dict servers: id -> server, as Nova returns it.
    :ivar float begun: time of the request, by the monotonic clock.
    :ivar float whole: time of the last request for a complete list.
    :ivar datetime date: time of the answer, by the cloud's clock; None if it
        is unknown.
    """

    servers: dict
    begun: float
    whole: float
    date: datetime.datetime | None


class Servers:
    """Lists the servers of a project.

    :param clock: returns seconds.
    """

    log = logging.getLogger('zuul.nodes.drivers.openstack')

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self._lock = threading.Lock()
        self._last = None
        self._knows_changes = True

    def listServers(self, proxy, microversion):
        """
        :param proxy: of openstacksdk, for Nova.
        :return: a list of all servers of the project, as Nova returns them.
        :raises HttpException: Nova has refused the request.
        """
        last, begun = self._last, self.clock()
        if (last is None or last.date is None or not self._knows_changes
                or begun >= last.whole + WHOLE):
            return self._keep(self._ask(proxy, microversion, begun))
        try:
            return self._keep(self._ask(proxy, microversion, begun, last))
        except exceptions.BadRequestException as error:
            self.log.warning('The cloud does not list changes of servers, so '
                             'each list is complete: %s', error)
            self._knows_changes = False
            return self._keep(self._ask(proxy, microversion, begun))

    def _ask(self, proxy, microversion, begun, last=None):
        """
        :param Snapshot last: to be updated; None for a complete list.
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
        # The date of the first page: the next list has all later changes.
        return Snapshot(servers, begun, last.whole if last else begun,
                        dates[0])

    def _keep(self, snapshot):
        with self._lock:
            # Another thread may have stored a newer list.
            if self._last is None or self._last.begun <= snapshot.begun:
                self._last = snapshot
        return list(snapshot.servers.values())


def _getDate(response):
    """:return: time of an answer, by the cloud's clock, or None."""
    try:
        return email.utils.parsedate_to_datetime(
            response.headers['Date']).astimezone(datetime.UTC)
    except (KeyError, TypeError, ValueError):
        return None
