"""The provider records that schedulers write for launchers."""

import json
import zlib

from kazoo.exceptions import NoNodeError
from zuul.zk.sharding import BufferedShardReader

from zuul_nodes import zkrecords

# ``zuul.zk.layout`` has the same path; its import takes commands long.
TENANTS = '/zuul/tenant'
# What is between the name of a driver and the content of a record.
DRIVER_END = b'\0'


def getNames(client, tenant_name):
    """
    :param KazooClient client:
    :return: a list of the canonical names of a tenant's providers.
    """
    root = _getRoot(tenant_name)
    return [f'{project}/{name}'
            for project in zkrecords.getChildren(client, root)
            for name in zkrecords.getChildren(client, f'{root}/{project}')]


def getPath(tenant_name, canonical_name):
    """:return: the path of a provider's record."""
    return f'{_getRoot(tenant_name)}/{canonical_name}/config'


def read(client, tenant_name, canonical_name):
    """Read a record without the driver's classes.

    :return: a dict, with the provider's flat configuration as ``config``; None
        if a scheduler has just written or removed the record.
    """
    try:
        with BufferedShardReader(
                client, getPath(tenant_name, canonical_name)) as reader:
            _, _, content = reader.read().partition(DRIVER_END)
        record = json.loads(zlib.decompress(content))
    except (NoNodeError, ValueError, zlib.error):
        return None
    return record if isinstance(record, dict) else None


def readAll(client):
    """:return: yields the records of all tenants, as of :func:`read`."""
    for tenant_name in sorted(zkrecords.getChildren(client, TENANTS)):
        for name in sorted(getNames(client, tenant_name)):
            if record := read(client, tenant_name, name):
                yield record


def _getRoot(tenant_name):
    return f'{TENANTS}/{tenant_name}/provider'
