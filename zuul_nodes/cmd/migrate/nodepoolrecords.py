"""The records of Nodepool 4 to 11 in ZooKeeper, which Zuul shares with it."""

import json

from zuul_nodes import providerrecords, zkrecords

ROOT = '/nodepool'
# What the JSON output has of a record; the rest is of no use for a move, or
# may be confidential.
NODE = ('state', 'state_time', 'provider', 'pool', 'cloud', 'external_id',
        'hostname', 'resources', 'tenant_name', 'allocated_to', 'comment',
        'hold_job', 'hold_expiration', 'launcher')
REQUEST = ('state', 'state_time', 'tenant_name', 'nodes', 'provider',
           'declined_by')
BUILD = ('state', 'state_time', 'builder', 'formats')
UPLOAD = ('state', 'state_time', 'format', 'external_id', 'external_name')
POOL = ('hostname', 'state', 'provider_name', 'name', 'supported_labels',
        'paused')


def read(client):
    """
    :param KazooClient client: may be read-only.
    :return: a dict of lists of dicts: ``pools``, ``builders``, ``nodes``,
        ``requests``, ``images``.  An image has ``builds``, and a build has
        ``uploads``.
    """
    return {
        'pools': [_take(record, POOL) for _, record
                  in _readAll(client, f'{ROOT}/components/pool')],
        'builders': [record.get('hostname') for _, record
                     in _readAll(client, f'{ROOT}/components/builder')],
        'nodes': [_makeNode(name, record) for name, record
                  in _readAll(client, f'{ROOT}/nodes')],
        'requests': [_makeRequest(name, record) for name, record
                     in _readAll(client, f'{ROOT}/requests')],
        'images': [_readImage(client, name) for name in sorted(
            zkrecords.getChildren(client, f'{ROOT}/images'))],
    }


def readOffers(client):
    """
    :return: label -> sorted list of the tenants that have a provider of Zuul
        with it.
    """
    offers = {}
    for record in providerrecords.readAll(client):
        for label in record['config'].get('labels', ()):
            tenants = offers.setdefault(label['name'], [])
            if record['tenant_name'] not in tenants:
                tenants.append(record['tenant_name'])
    return offers


def _makeNode(name, record):
    labels = record.get('type') or []
    return {'id': name,
            'labels': [labels] if isinstance(labels, str) else labels,
            **_take(record, NODE),
            # A node of the driver metastatic is a part of another node.
            'is_slot': record.get('external_id') == name}


def _makeRequest(name, record):
    return {'id': name, 'labels': record.get('node_types') or [],
            **_take(record, REQUEST)}


def _readImage(client, name):
    path = f'{ROOT}/images/{name}'
    return {
        'name': name,
        'paused': client.exists(f'{path}/pause') is not None,
        'builds': [{'id': build, **_take(record, BUILD), 'uploads': list(
            _readUploads(client, f'{path}/builds/{build}/providers'))}
            for build, record in _readAll(client, f'{path}/builds')]}


def _readUploads(client, path):
    for provider in sorted(zkrecords.getChildren(client, path)):
        for upload, record in _readAll(client, f'{path}/{provider}/images'):
            yield {'id': upload, 'provider': provider,
                   **_take(record, UPLOAD)}


def _take(record, names):
    return {name: record.get(name) for name in names}


def _readAll(client, path):
    """:return: yields (name, content) of the records below a path."""
    for name in sorted(zkrecords.getChildren(client, path)):
        try:
            record = json.loads(
                zkrecords.read(client, f'{path}/{name}') or b'null')
        except ValueError:
            continue
        # A lock, or what remains of a record, has no content.
        if isinstance(record, dict):
            yield name, record
