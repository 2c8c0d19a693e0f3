"""Records of what the clean-up of each endpoint suspects to have leaked.

The launcher that cleans an endpoint up writes its record after each round in
which the suspects have changed.  Commands of the operator read them.
"""

from collections.abc import Iterable
import json
from typing import Any
import zlib

from kazoo.client import KazooClient

from zuul_nodes import messages, zkrecords

ROOT = '/zuul/zuul-nodes/leaks'
# Maximum number of resources in a record.
MOST = 2000


def makeRecord(suspects: Iterable[dict[str, Any]]) -> bytes:
    """
    :param suspects: of an endpoint, each a dict of ``type``, ``id``, ``node``
        and ``upload`` (uuids, or None), ``since`` (seconds since the epoch),
        ``attempts`` to delete it, and ``error`` (of the last one, or None).
    :return: the content of the record.
    """
    found = [suspect | {
        'error': suspect['error'] and messages.shorten(suspect['error'])}
        for suspect in suspects]
    return zlib.compress(json.dumps(found[:MOST], sort_keys=True).encode())


def getPath(endpoint_name: str) -> str:
    """:return: the path of the record of an endpoint, by canonical name."""
    return zkrecords.getPath(ROOT, endpoint_name)


def readAll(client: KazooClient) -> list[dict[str, Any]]:
    """:return: a list of the suspects of all endpoints, each with its
        ``endpoint``, the oldest first."""
    found = []
    for endpoint_name in zkrecords.getNames(client, ROOT):
        if data := zkrecords.read(client, getPath(endpoint_name)):
            found += [{'endpoint': endpoint_name, **suspect}
                      for suspect in json.loads(zlib.decompress(data))]
    return sorted(found, key=lambda each: (
        each['since'], each['endpoint'], each['id']))
