"""Records of the snapshots that launchers have made, with their nodes.

A build names the snapshot of its node by a URL, and a job may return any URL.
A launcher therefore records each snapshot before the build learns its URL.
An image of the format ``snapshot`` is accepted only if such a record exists.

The name of a record contains the expiration time of the snapshot and a key
derived from its URL.
"""

import contextlib
import dataclasses
import hashlib
import json
import time

from kazoo.exceptions import NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/snapshots'
# The format's name in Zuul's executor.
FORMAT = 'snapshot'


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """
    :ivar str url: the URL of the artifact.
    :ivar str node: the id of the node that the snapshot was made of.
    :ivar str tenant: the tenant that used the node.
    """
    url: str
    node: str
    tenant: str


def add(client, snapshot, expiration):
    """Write a record, unless it exists, and delete expired records.

    :param KazooClient client:
    :param Snapshot snapshot:
    :param int expiration: time after which the snapshot may be deleted, in
        seconds since the epoch.
    """
    now = time.time()
    for name in zkrecords.getChildren(client, ROOT):
        if float(name.partition('-')[0]) < now:
            with contextlib.suppress(NoNodeError):
                client.delete(f'{ROOT}/{name}')
    data = json.dumps(dataclasses.asdict(snapshot), sort_keys=True).encode()
    # Another launcher may have written the record before.
    with contextlib.suppress(NodeExistsError):
        client.create(
            f'{ROOT}/{expiration}-{_makeKey(snapshot.url)}', data,
            makepath=True)


def find(client, url, tenant_name):
    """
    :param KazooClient client:
    :param str url: of any artifact.
    :param str tenant_name: the tenant of the build that returned the URL.
    :return: a set of the ids of the tenant's nodes that the URL is a snapshot
        of; empty if it is not a recorded snapshot.
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
