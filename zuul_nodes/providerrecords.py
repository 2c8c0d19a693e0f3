"""The provider records that schedulers write for launchers."""

import json
import zlib

from kazoo.exceptions import NoNodeError
from zuul.zk.sharding import BufferedShardReader

from zuul_nodes import readytimes, zkrecords

# ``zuul.zk.layout`` has the same path; its import takes commands long.
TENANTS = '/zuul/tenant'
# What is between the name of a driver and the content of a record.
DRIVER_END = b'\0'
# In the configuration of a label, as zuul_nodes.drivers has it.
OWN = 'zuul_nodes'
# The key there of what schedulers need to combine the provider again.
OWN_PART = 'own-part'


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


def getPlain(config):
    """:return: the flat configuration of a provider, without what only
        schedulers read."""
    return config | {'labels': [
        label | {OWN: {key: value for key, value
                       in label.get(OWN, {}).items() if key != OWN_PART}}
        for label in config['labels']]}


def getMinReady(config, now):
    """
    :param dict config: of a label, in the configuration of a provider.
    :param now: in seconds since the epoch.
    :return: a dict: ``min_ready``, how many of its nodes the launcher keeps
        ready now, and ``min_ready_times``, when it keeps another number (as of
        :func:`.readytimes.describe`).
    """
    number = config.get('min-ready')
    entries = config.get(OWN, {}).get(readytimes.MIN_READY_TIMES)
    return {'min_ready': readytimes.getNumber(number, entries, now),
            'min_ready_times': readytimes.describe(number, entries)}


def _getRoot(tenant_name):
    return f'{TENANTS}/{tenant_name}/provider'
