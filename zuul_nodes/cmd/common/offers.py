"""What providers offer, and how many nodes there are of it, by the records."""

import collections
import time

from zuul_nodes import providerrecords, readytimes

NODES = '/zuul/nodes/nodes'
# In the configuration of a label, as zuul_nodes.drivers has it.
OWN = 'zuul_nodes'
# State of a node -> what it counts as.
COUNTED = {
    'requested': 'building', 'building': 'building', 'ready': 'ready',
    'in-use': 'in_use', 'used': 'in_use', 'snapshot': 'in_use',
    'hold': 'hold', 'failed': 'failed', 'tempfailed': 'failed'}
COUNTS = ('ready', 'building', 'in_use', 'hold', 'failed')


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
    :return: how many of its nodes are to be ready now.
    """
    return readytimes.getNumber(
        config.get('min-ready'),
        config.get(OWN, {}).get(readytimes.MIN_READY_TIMES), time.time())


def countNodes(nodes):
    """
    :param nodes: records of nodes, with the parts ``assignment``.
    :return: dict, the names of a provider and of a label -> a dict of
        :data:`COUNTS`.  What is idle is ready, and what a request has is in
        use.
    """
    found = collections.defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for node in nodes:
        kind = COUNTED.get(node['state'])
        if kind == 'ready' and node.get('request_id'):
            kind = 'in_use'
        # The slots of a host are the nodes that jobs use.
        if kind and not node.get('subnodes'):
            found[node['provider'], node['label']][kind] += 1
    return found
