"""The requests of a tenant, in the order in which they are served."""

import collections
import time
from typing import NamedTuple

from zuul_nodes import messages, requestlist, waits
from zuul_nodes.web.cache import Cache

# Seconds for which what was read is used.
LIFETIME = 5
# States of requests that have no nodes yet.
STATES = ('requested', 'accepted')


class Queue(NamedTuple):
    """The requests of all tenants at one time.

    :ivar tenants: name of a tenant -> uuid -> record, in their order.
    :ivar positions: uuid -> position among all that wait.
    :ivar waits: name of a tenant -> why its requests wait, as far as it has
        been asked for.
    """
    tenants: dict
    positions: dict
    waits: dict


class RequestViews:
    """
    :param ZuulWeb zuulweb:
    """

    def __init__(self, zuulweb):
        self.zuulweb = zuulweb
        self._queue = Cache(self._readQueue, LIFETIME)

    def getList(self, tenant_name, limit, skip):
        """
        :param int limit: maximum number of requests.
        :param int skip: number of requests to leave out before.
        :return: a dict: the ``requests`` that have no nodes yet, a list of
            dicts as of :meth:`getOne`, and their ``total`` number.
        """
        queue = self._queue.get()
        records = [each for each in queue.tenants.get(tenant_name, {}).values()
                   if each['state'] in STATES]
        found = self._getWaits(queue, tenant_name)
        return {'total': len(records),
                'requests': [_describe(each, queue, found)
                             for each in records[skip:skip + limit]]}

    def getOne(self, tenant_name, uuid):
        """:return: as of :func:`.requestlist.describe`, without the tenant;
            None if the tenant has no such request."""
        queue = self._queue.get()
        record = queue.tenants.get(tenant_name, {}).get(uuid)
        if record is None:
            # It may be newer than what was read.
            request = self.zuulweb.requests_cache.getItem(uuid)
            if request is None or request.tenant_name != tenant_name:
                return None
            record = requestlist.toRecord(request)
        return _describe(record, queue, self._getWaits(queue, tenant_name))

    def _readQueue(self):
        records = sorted(
            map(requestlist.toRecord, self.zuulweb.requests_cache.getItems()),
            key=requestlist.getRank)
        tenants = collections.defaultdict(dict)
        for record in records:
            tenants[record['tenant_name']][record['uuid']] = record
        return Queue(dict(tenants), requestlist.getPositions(records), {})

    def _getWaits(self, queue, tenant_name):
        if tenant_name not in queue.waits:
            queue.waits[tenant_name] = waits.read(
                self.zuulweb.zk_client.client, tenant_name)
        return queue.waits[tenant_name]


def _describe(record, queue, found):
    request = requestlist.describe(
        record, found.get(record['uuid']),
        queue.positions.get(record['uuid']), time.time())
    del request['tenant']
    request['failures'] = {
        provider: messages.forTenants(reason)
        for provider, reason in request['failures'].items()}
    return request
