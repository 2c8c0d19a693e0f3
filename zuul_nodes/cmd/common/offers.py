"""What providers offer, by the records."""

import time

from zuul_nodes import providerrecords

NODES = '/zuul/nodes/nodes'


def readProviders(client):
    """
    :param KazooClient client: may be read-only.
    :return: dict, canonical name -> a provider, sorted by name.  A provider is
        a dict: ``name``, ``connection``, ``tenants`` that have it, and
        ``labels``, a dict of the name of a label -> a dict: ``project``,
        ``aliases``, ``tenants``, ``max_nodes``, and what
        :func:`.providerrecords.getMinReady` returns.
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
                'max_nodes': config.get('max-nodes'),
                **providerrecords.getMinReady(config, time.time())})[
                    'tenants'].append(record['tenant_name'])
    return dict(sorted(providers.items()))
