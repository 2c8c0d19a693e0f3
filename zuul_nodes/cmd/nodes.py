"""``zuul-nodes nodes``: lists the nodes, and changes their states."""

import shlex

from zuul_nodes import zuulconf
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.cmd.common.nodechanges import CHANGES, change, readNodes

DESCRIPTION = '''\
List the nodes of all tenants: what uses them, and why one has failed or is on
hold.

The actions change records.  The launcher that has the node obeys when the
request that uses the node has ended.  The command runs beside a running Zuul
and uses its zuul.conf.'''

COLUMNS = ('Node', 'Label', 'Provider', 'State', 'For', 'Tenant', 'Address',
           'Comment')
WIDTHS = {'Label': 14, 'Provider': 12, 'Tenant': 10, 'Address': 15,
          'Comment': 18}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.set_defaults(
        node=None, **dict.fromkeys(
            ('tenant', 'label', 'provider', 'state', 'older_than')))
    actions = parser.add_subparsers(dest='action', metavar='ACTION')
    lister = actions.add_parser('list', help='list nodes; the default')
    output.addCommonArguments(lister, is_list=True)
    for name, what in (
            ('tenant', 'that a request of this tenant uses'),
            ('label', 'with this label'), ('provider', 'of this provider'),
            ('state', 'in this state, such as "ready" or "hold"')):
        lister.add_argument(f'--{name}', help=f'only nodes {what}')
    arguments.addOlderThan(lister, 'nodes that have been in their state')
    shower = actions.add_parser('show', help='show all about a node')
    output.addCommonArguments(shower, is_list=True)
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


def isWanted(node, args):
    """:return: whether the arguments select a node."""
    return all(wanted in (None, node[key]) for key, wanted in (
        ('tenant', args.tenant), ('label', args.label),
        ('state', args.state))) and (
            args.provider in (None, node['provider'],
                              getShortName(node['provider']))) and (
            args.older_than is None or node['state_age'] > args.older_than)


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
