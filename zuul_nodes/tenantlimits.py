"""Records of the limits of tenants: ``tenant_limits`` in zuul.conf.

The launcher that plans writes a record for each tenant that has limits.
zuul-web and commands read it, so they show the limits that hold, and need not
have the zuul.conf of launchers.
"""

from collections.abc import Mapping
import json

from kazoo.client import KazooClient

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/tenant-limits'


def makeRecord(limits: Mapping[str, float]) -> bytes:
    """
    :param limits: resource -> amount.
    :return: the content of the record of a tenant.
    """
    return json.dumps(dict(limits)).encode()


def readAll(client: KazooClient) -> dict[str, dict[str, float]]:
    """:return: dict, name of a tenant with limits -> resource -> amount."""
    return {name: json.loads(data)
            for name in zkrecords.getNames(client, ROOT)
            # None if it was deleted just now.
            if (data := zkrecords.read(
                client, zkrecords.getPath(ROOT, name)))}
