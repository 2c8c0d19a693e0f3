"""What providers offer, by the records."""

import time

from zuul_nodes import providerrecords, readytimes

NODES = '/zuul/nodes/nodes'
# In the configuration of a label, as zuul_nodes.drivers has it.
OWN = 'zuul_nodes'


def readProviders(client):
    """
    :param KazooClient client: may be read-only.
    :return: dict, canonical name -> a provider, sorted by name.  A provider is
        a dict: ``name``, ``connection``, ``tenants`` that have it, and
        ``labels``, a dict of the name of a label -> a dict: ``project``,
        ``aliases``, ``tenants``, ``min_ready`` (now), ``max_nodes``.
    """
    providers = {}
    for record in providerrecords.readAll(client):
        provider = providers.setdefault(record['canonical_name'], {
            'name': record['canonical_name'],
            'connection': record['connection_name'],
            'tenants': [], 'labels': {}})
        provider['tenants'].append(record['tenant_name'])
        for config in record['config'].get('labels', ()):
            # Definitions differ between tenants only while a scheduler
            # changes them.
            provider['labels'].setdefault(config['name'], {
                'project': config.get('project_canonical_name'),
                'aliases': config.get('aliases') or [], 'tenants': [],
                'min_ready': getMinReady(config),
                'max_nodes': config.get('max-nodes')})[
                    'tenants'].append(record['tenant_name'])
    return dict(sorted(providers.items()))


def getMinReady(config):
    """
    :param dict config: of a label, in the record of a provider.
    :return: how many of its nodes the launcher keeps ready now.
    """
    return readytimes.getNumber(
        config.get('min-ready'),
        config.get(OWN, {}).get(readytimes.MIN_READY_TIMES), time.time())
