"""The records of nodes, and the changes to them that operators ask for."""

import time

from zuul_nodes import orders, zkrecords
from zuul_nodes.cmd.common import zkobjects
from zuul_nodes.exceptions import UserError
from zuul_nodes.orders import Order

NODES = '/zuul/nodes/nodes'
# Of a request of users for another state (``zuul.model``).
LIFECYCLE = 'lifecycle'
# As zuul-web limits it.
LONGEST_REASON = 1024
# Keys of the records of Zuul's own drivers.
EXTERNAL_IDS = ('aws_instance_id', 'azure_vm_id', 'kubernetes_namespace_id',
                'openstack_server_id')
# Action -> the state that it asks for, and help text.
CHANGES = {
    'hold': ('hold', 'keep a node, and give it to no request'),
    'release': ('used', 'end the hold of a node: it is deleted, or used '
                        'again if it is static'),
    'delete': ('outdated', 'delete a node; a static node is prepared anew'),
    'recheck': ('outdated', 'try a static node that has failed again, without '
                            'the wait after a failure'),
}
# States of nodes that wait to be tried again.
FAILED = ('failed', 'tempfailed')


def readNodes(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each node one, the oldest first.
    """
    now = time.time()
    records = zkobjects.readAll(
        client, NODES, ['assignment', LIFECYCLE])
    records.sort(key=lambda each: (each['request_time'], each['uuid']))
    return [{
        'uuid': record['uuid'],
        'label': record['label'],
        'aliases': record['label_aliases'],
        'provider': record['provider'],
        'endpoint': record['endpoint_name'],
        'connection': record['connection_name'],
        'state': record['state'],
        'state_age': round(now - record['state_time']),
        'age': round(now - record['request_time']),
        'tenant': record.get('tenant_name'),
        'request': record.get('request_id'),
        'address': record['interface_ip'],
        'connection_type': record['connection_type'],
        'port': record['connection_port'],
        'username': record['username'],
        'zone': record['az'],
        'host': record['main_node_id'],
        'slots': record['subnodes'],
        'quota': record['quota'],
        'external_id': _getExternalId(record),
        'comment': record['comment'],
        'next_state': record.get('next_state'),
        'next_comment': record.get('next_comment'),
        'hold_expiration': record['hold_expiration'],
    } for record in records]


def change(client, node, action, reason=None, force=False):
    """Ask the launcher for another state of a node.

    :param dict node: as of :func:`readNodes`.
    :param str action: a key of :data:`CHANGES`.
    :param str reason: for a hold, or None.
    :param bool force: whether to delete the record alone.
    :return: what was done, as text.
    :raises UserError: it makes no sense in the state of the node.
    """
    state, _ = CHANGES[action]
    name = f'node {node["uuid"]}'
    if action == 'release' and 'hold' not in (
            node['state'], node['next_state']):
        raise UserError(f'{name} is not on hold, it is {node["state"]}')
    if action == 'recheck' and node['host']:
        raise UserError(f'{name} is a slot: recheck its host {node["host"]}')
    if action == 'recheck' and node['state'] not in FAILED:
        raise UserError(f'{name} has not failed, it is {node["state"]}')
    data = zkobjects.compress({
        'next_state': state,
        'next_comment': reason[:LONGEST_REASON] if reason else None})
    orders.note(client, f'nodes {action}{" --force" if force else ""}',
                node=node['uuid'], provider=node['provider'], reason=reason)
    # The slots of a host are the nodes that jobs use.
    uuids = node['slots'] or [node['uuid']]
    if action == 'recheck':
        uuids = [node['uuid'], *node['slots']]
    for uuid in uuids:
        if zkrecords.read(client, f'{NODES}/{uuid}') is not None:
            zkrecords.write(client, f'{NODES}/{uuid}/{LIFECYCLE}', data)
    if force:
        # The host goes after its slots.
        for uuid in (*node['slots'], node['uuid']):
            orders.add(client, Order.REMOVE, uuid)
    done = {'hold': 'is put on hold', 'release': 'is released',
            'delete': 'is deleted', 'recheck': 'is tried again'}[action]
    if node['request'] and node['state'] != 'hold':
        done += (f' when request {node["request"]} of tenant '
                 f'{node["tenant"]} has ended')
    return f'The {name} {done}' + (describeRest(node) if force else '')


def describeRest(node):
    """:return: what the removal of a node's record leaves in its cloud."""
    instance = node['external_id'] and f'the instance {node["external_id"]}'
    return (f', without asking its cloud: if there is '
            f'{instance or "an instance of it"} at provider '
            f'{node["provider"]}, endpoint {node["endpoint"]}, it stays there '
            'until the clean-up of the launcher or you delete it')


def _getExternalId(record):
    """:return: the cloud's id of a node; None if the record has none."""
    created = record.get('create_state') or {}
    return next(filter(None, (
        created.get('instance_id'), *(
            # Where Zuul's own drivers store it.
            record.get(key) for key in EXTERNAL_IDS))), None)
