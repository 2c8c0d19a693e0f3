"""Which snapshots the launcher has made, and of whose nodes.

A build names the snapshot of its node by a URL, and a job may return any
URL.  So a launcher writes down here what it has made, before the build can
know of it.  An image of the format ``snapshot`` is taken only if it is in
one of these records.

The name of a record has the time when the snapshot expires, and what it is
found by.
"""

import contextlib
import dataclasses
import hashlib
import json
import time

from kazoo.exceptions import NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/snapshots'
# The format of such an image, as Zuul's executor has it.
FORMAT = 'snapshot'


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """
    :ivar str url: what an artifact has for its URL.
    :ivar str node: the id of the node that it was made of.
    :ivar str tenant: that had the node.
    """
    url: str
    node: str
    tenant: str


def add(client, snapshot, expiration):
    """Write a record, if there is none, and remove those that have expired.

    :param KazooClient client:
    :param Snapshot snapshot:
    :param int expiration: since when the snapshot may be gone, in seconds.
    """
    now = time.time()
    for name in zkrecords.getChildren(client, ROOT):
        if float(name.partition('-')[0]) < now:
            with contextlib.suppress(NoNodeError):
                client.delete(f'{ROOT}/{name}')
    data = json.dumps(dataclasses.asdict(snapshot), sort_keys=True).encode()
    # Another launcher may have begun with it.
    with contextlib.suppress(NodeExistsError):
        client.create(
            f'{ROOT}/{expiration}-{_makeKey(snapshot.url)}', data,
            makepath=True)


def find(client, url, tenant_name):
    """
    :param KazooClient client:
    :param str url: of any artifact.
    :param str tenant_name: of the build that has returned it.
    :return: the ids of the tenant's nodes that it is a snapshot of, a set;
        empty if it is none.
    """
    found = set()
    for name in zkrecords.getChildren(client, ROOT):
        if not name.endswith(f'-{_makeKey(url)}'):
            continue
        with contextlib.suppress(NoNodeError):
            snapshot = Snapshot(**json.loads(client.get(f'{ROOT}/{name}')[0]))
            if (snapshot.url, snapshot.tenant) == (url, tenant_name):
                found.add(snapshot.node)
    return found


def _makeKey(url):
    return hashlib.sha256(url.encode()).hexdigest()
