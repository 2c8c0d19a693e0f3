"""Records of why requests wait.

The launcher that plans writes a record for each tenant with waiting requests.
zuul-web and commands read it.
"""

from collections.abc import Iterable
import json
from typing import NamedTuple
import zlib

from kazoo.client import KazooClient

from zuul_nodes import messages, zkrecords

ROOT = '/zuul/zuul-nodes/waits'
# Maximum number of requests in a record, which fits what ZooKeeper takes.
MOST = 20000
# Maximum length of a reason in characters.
LENGTH = 1000


class Wait(NamedTuple):
    """
    :ivar reason: why the first request of a line waits.
    :ivar ahead: number of requests that are before this one in the line.
    :ivar first: uuid of the first one.
    """
    reason: str
    ahead: int
    first: str

    def __str__(self) -> str:
        if not self.ahead:
            return self.reason
        return (f'{self.ahead} requests with the same needs are ahead. The '
                f'first, {self.first}, waits: {self.reason}')


def makeRecord(lines: Iterable[tuple[str, list[str]]]) -> bytes:
    """
    :param lines: of a tenant's requests with equal needs: why the first one
        waits, and their uuids, the first one's first.
    :return: the content of the tenant's record.
    """
    lines = list(lines)
    own = {uuid for _, request_ids in lines for uuid in request_ids}
    left = MOST
    data = []
    for reason, request_ids in lines:
        data.append({
            'reason': messages.withoutOtherRequests(
                messages.forTenants(reason), own)[:LENGTH],
            'requests': request_ids[:left]})
        left -= len(data[-1]['requests'])
    return zlib.compress(json.dumps(data).encode())


def getPath(tenant_name: str) -> str:
    """:return: the path of a tenant's record."""
    return zkrecords.getPath(ROOT, tenant_name)


def read(client: KazooClient, tenant_name: str) -> dict[str, Wait]:
    """
    :return: dict, uuid of a request of the tenant -> why it waits; for those
        that have waited for a while.
    """
    data = zkrecords.read(client, getPath(tenant_name))
    if data is None:
        return {}
    return {
        request_id: Wait(line['reason'], ahead, line['requests'][0])
        for line in json.loads(zlib.decompress(data))
        for ahead, request_id in enumerate(line['requests'])}
