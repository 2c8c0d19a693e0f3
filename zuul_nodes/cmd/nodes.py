"""``zuul-nodes nodes``: lists the nodes, holds, releases and deletes them."""

import argparse
import shlex
import time

from zuul_nodes import orders, zkrecords, zuulconf
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.exceptions import UserError
from zuul_nodes.orders import Order

DESCRIPTION = '''\
List the nodes of all tenants: what uses them, and why one has failed or is on
hold.

The actions change records.  The launcher that has the node obeys when the
request that uses the node has ended.  The command runs beside a running Zuul
and uses its zuul.conf.'''

NODES = '/zuul/nodes/nodes'
# Of a request of users for another state (``zuul.model``).
LIFECYCLE = 'lifecycle'
# As zuul-web limits it.
LONGEST_REASON = 1024
# Keys of the records of Zuul's own drivers.
EXTERNAL_IDS = ('aws_instance_id', 'azure_vm_id', 'kubernetes_namespace_id',
                'openstack_server_id')
COLUMNS = ('Node', 'Label', 'Provider', 'State', 'For', 'Tenant', 'Address',
           'Comment')
WIDTHS = {'Label': 14, 'Provider': 12, 'Tenant': 10, 'Address': 15,
          'Comment': 18}
# Action -> the state that it asks for, and help text.
CHANGES = {
    'hold': ('hold', 'keep a node, and give it to no request'),
    'release': ('used', 'end the hold of a node: it is deleted, or used '
                        'again if it is static'),
    'delete': ('outdated', 'delete a node; a static node is prepared anew'),
}


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    output.addFormatArgument(parser)
    parser.set_defaults(
        node=None, **dict.fromkeys(
            ('tenant', 'label', 'provider', 'state', 'older_than')))
    actions = parser.add_subparsers(dest='action', metavar='ACTION')
    lister = actions.add_parser('list', help='list nodes; the default')
    output.addCommonArguments(lister)
    for name, what in (
            ('tenant', 'that a request of this tenant uses'),
            ('label', 'with this label'), ('provider', 'of this provider'),
            ('state', 'in this state, such as "ready" or "hold"')):
        lister.add_argument(f'--{name}', help=f'only nodes {what}')
    arguments.addOlderThan(lister, 'nodes that have been in their state')
    shower = actions.add_parser('show', help='show all about a node')
    output.addCommonArguments(shower)
    _addNode(shower)
    for name, (_, help_text) in CHANGES.items():
        change = actions.add_parser(
            name, help=help_text, description=f'Will {help_text}.')
        output.addCommonArguments(change)
        _addNode(change)
        if name == 'hold':
            change.add_argument(
                '--reason', help='the reason, shown to others')
        if name == 'delete':
            change.add_argument('--force', action='store_true', help=(
                'remove the record without asking the cloud, which may keep '
                'the instance'))


def _addNode(parser):
    parser.add_argument(
        'node', metavar='NODE', help='the id of a node, or how it begins')


def run(args):
    from zuul_nodes.cmd.common import zkobjects
    from zuul_nodes.cmd.common.readonly import (
        CommandZooKeeper,
        ReadOnlyZooKeeper,
        connected,
    )
    with connected(
            zuulconf.read(args.config),
            CommandZooKeeper if args.action in CHANGES
            else ReadOnlyZooKeeper) as zookeeper:
        nodes = readNodes(zookeeper.client)
        node = args.node and zkobjects.find(nodes, args.node, 'node')
        if args.action in CHANGES:
            output.printDone(args.format, change(
                zookeeper.client, node, args.action,
                getattr(args, 'reason', None),
                getattr(args, 'force', False)))
            return 0
    result = node or [each for each in nodes if isWanted(each, args)]
    if args.format == 'json':
        print(output.formatJSON(result))
    elif node:
        print(formatNode(node))
    else:
        print(output.formatTable(COLUMNS, map(getRow, result), WIDTHS))
    return 0


def _getExternalId(record):
    """:return: the cloud's id of a node; None if the record has none."""
    created = record.get('create_state') or {}
    return next(filter(None, (
        created.get('instance_id'), *(
            # Where Zuul's own drivers store it.
            record.get(key) for key in EXTERNAL_IDS))), None)


def isWanted(node, args):
    """:return: whether the arguments select a node."""
    return all(wanted in (None, node[key]) for key, wanted in (
        ('tenant', args.tenant), ('label', args.label),
        ('state', args.state))) and (
            args.provider in (None, node['provider'],
                              getShortName(node['provider']))) and (
            args.older_than is None or node['state_age'] > args.older_than)


def readNodes(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each node one, the oldest first.
    """
    from zuul_nodes.cmd.common import zkobjects
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
    from zuul_nodes.cmd.common import zkobjects
    state, _ = CHANGES[action]
    name = f'node {node["uuid"]}'
    if action == 'release' and 'hold' not in (
            node['state'], node['next_state']):
        raise UserError(f'{name} is not on hold, it is {node["state"]}')
    data = zkobjects.compress({
        'next_state': state,
        'next_comment': reason[:LONGEST_REASON] if reason else None})
    # The slots of a host are the nodes that jobs use.
    for uuid in node['slots'] or [node['uuid']]:
        if zkrecords.read(client, f'{NODES}/{uuid}') is not None:
            zkrecords.write(client, f'{NODES}/{uuid}/{LIFECYCLE}', data)
    if force:
        # The host goes after its slots.
        for uuid in (*node['slots'], node['uuid']):
            orders.add(client, Order.REMOVE, uuid)
    done = {'hold': 'is put on hold', 'release': 'is released',
            'delete': 'is deleted'}[action]
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


def getRow(node):
    """:return: the cells of the table for a node."""
    comment = node['comment'] or '-'
    if node['next_state']:
        comment = f'to be {node["next_state"]}'
    return (node['uuid'][:8], node['label'],
            getShortName(node['provider'] or '-'), node['state'],
            output.formatAge(node['state_age']), node['tenant'] or '-',
            node['address'] or '-', comment)


def formatNode(node):
    """:return: all about a node, as text."""
    following = node['next_state'] and (
        node['next_state']
        + (f' ({node["next_comment"]})' if node['next_comment'] else ''))
    expiration = node['hold_expiration'] and (
        f'the hold ends after {output.formatAge(node["hold_expiration"])}')
    login = None
    if node['connection_type'] in (None, 'ssh') and node['address']:
        user = f'{node["username"]}@' if node['username'] else ''
        login = shlex.join(['ssh', '-p', str(node['port'] or 22),
                            f'{user}{node["address"]}'])
    return output.formatFields((
        ('Node', node['uuid']),
        ('Label', ', '.join([node['label'], *node['aliases']])),
        ('Provider', node['provider']),
        ('Endpoint', node['endpoint']),
        ('Zone', node['zone']),
        ('Instance', node['external_id']),
        ('State', f'{node["state"]} for '
                  f'{output.formatAge(node["state_age"])}'),
        ('Age', output.formatAge(node['age'])),
        ('Next state', following),
        ('Expires', node['state'] == 'hold' and expiration),
        ('Tenant', node['tenant']),
        ('Request', node['request']),
        ('Host', node['host']),
        ('Slots', ', '.join(node['slots'])),
        ('Uses', ', '.join(f'{amount:g} {resource}' for resource, amount
                           in (node['quota'] or {}).items())),
        ('Log in', login),
        ('Comment', node['comment'])))
