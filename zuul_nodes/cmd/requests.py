"""``zuul-nodes requests``: lists the requests for nodes, and cancels them."""

import time

from zuul_nodes import candidates, orders, requestlist, waits, zuulconf
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.exceptions import UserError
from zuul_nodes.orders import Order

DESCRIPTION = '''\
List the requests for nodes of all tenants, in the order in which they are
served, with the reason for which each one waits.  A request is there from the
time when a job needs nodes until the job has ended.

The launcher records a reason when a request has waited for some seconds, and
renews it each minute.

The action "cancel" writes an order, which the launcher obeys at once.  The
command runs beside a running Zuul and uses its zuul.conf.'''

NODES = '/zuul/nodes/nodes'
STATES = ('requested', 'accepted', 'fulfilled', 'failed')
COLUMNS = ('Request', 'Tenant', 'Job', 'Labels', 'State', 'Age', 'Waits for')
WIDTHS = {'Tenant': 12, 'Job': 14, 'Labels': 14, 'Waits for': 28}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.set_defaults(request=None, tenant=None, label=None, state=None,
                        older_than=None)
    actions = parser.add_subparsers(dest='action', metavar='ACTION')
    lister = actions.add_parser('list', help='list requests; the default')
    output.addCommonArguments(lister, is_list=True)
    lister.add_argument('--tenant', help='only requests of this tenant')
    lister.add_argument('--label', help='only requests for this label')
    lister.add_argument(
        '--state', choices=STATES, help='only requests in this state')
    arguments.addOlderThan(lister, 'requests that have existed')
    shower = actions.add_parser('show', help='show all about a request')
    output.addCommonArguments(shower, is_list=True)
    canceller = actions.add_parser(
        'cancel', help='end a request as failed', description='Will end a '
        'request as failed, as if no provider could serve it.')
    output.addCommonArguments(canceller)
    canceller.add_argument('--reason', help=(
        'the reason, shown to the users of the job'))
    for each in (shower, canceller):
        each.add_argument('request', metavar='REQUEST', help=(
            'the id of a request, or how it begins'))


def run(args):
    from zuul_nodes.cmd.common import zkobjects
    from zuul_nodes.cmd.common.readonly import (
        CommandZooKeeper,
        ReadOnlyZooKeeper,
        connected,
    )
    with connected(
            zuulconf.read(args.config),
            CommandZooKeeper if args.action == 'cancel'
            else ReadOnlyZooKeeper) as zookeeper:
        requests = readRequests(zookeeper.client)
        if args.request:
            request = zkobjects.find(requests, args.request, 'request')
        if args.action == 'cancel':
            output.printDone(args.format, cancel(
                zookeeper.client, request, args.reason))
            return 0
        if args.request:
            nodes = {node['uuid']: node for node in zkobjects.read(
                zookeeper.client, NODES,
                [node['uuid'] for node in request['nodes']])}
            for node in request['nodes']:
                record = nodes.get(node['uuid'], {'state': 'gone'})
                node.update((key, record.get(key))
                            for key in ('label', 'state', 'provider'))
    if args.request:
        text = formatRequest(request)
    else:
        request = [
            each for each in requests
            if args.tenant in (None, each['tenant'])
            and args.state in (None, each['state'])
            and (args.label is None or args.label in each['labels'])
            and (args.older_than is None or each['age'] > args.older_than)]
        text = output.formatTable(COLUMNS, map(getRow, request), WIDTHS)
    print(output.formatJSON(request) if args.format == 'json' else text)
    return 0


def readRequests(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each request one, in the order in which they
        are served.
    """
    from zuul_nodes.cmd.common import zkobjects
    records = zkobjects.readAll(client, requestlist.REQUESTS, ['revision'])
    reasons = {}
    for tenant_name in {each['tenant_name'] for each in records
                        if each['state'] == requestlist.WAITING}:
        reasons |= waits.read(client, tenant_name)
    records.sort(key=requestlist.getRank)
    positions = requestlist.getPositions(records)
    now = time.time()
    return [requestlist.describe(
        record, reasons.get(record['uuid']), positions.get(record['uuid']),
        now) for record in records]


def cancel(client, request, reason=None):
    """Order the launchers to end a request as failed.

    :param dict request: as of :func:`readRequests`.
    :param str reason: for the users of the job, or None.
    :return: what was done, as text.
    :raises UserError: the request has its nodes.
    """
    name = f'request {request["uuid"]}'
    if request['state'] == 'fulfilled':
        raise UserError(
            f'{name} has its nodes, so it cannot be cancelled: dequeue the '
            f'change, or stop the job {request["job"]}')
    if request['state'] == 'failed':
        return f'The {name} has failed already'
    orders.note(client, 'requests cancel', request=request['uuid'],
                reason=reason)
    orders.add(client, Order.CANCEL, request['uuid'], reason)
    if not candidates.read(client):
        return (f'The {name} fails as soon as a launcher of zuul-nodes plans; '
                'none does now')
    return f'The {name} of tenant {request["tenant"]} fails'


def getRow(request):
    """:return: the cells of the table for a request."""
    reason = request['reason'] or '-'
    if request['ahead']:
        reason = f'{request["ahead"]} with the same needs ahead'
    return (request['uuid'][:8], request['tenant'], request['job'],
            ', '.join(request['labels']), request['state'],
            output.formatAge(request['age']), reason)


def formatRequest(request):
    """:return: all about a request, as text."""
    ahead = request['ahead'] and (
        f'{request["ahead"]} with the same needs; the reason is that of the '
        'first')
    position = request['position']
    lines = [output.formatFields((
        ('Request', request['uuid']),
        ('Tenant', request['tenant']),
        ('Pipeline', request['pipeline']),
        ('Project', request['project']),
        ('Job', request['job']),
        ('Labels', ', '.join(request['labels'])),
        ('State', f'{request["state"]}, '
                  f'{output.formatAge(request["age"])} old'),
        ('Position', position and f'{position} of those that wait, in all '
                                  'tenants'),
        ('Ahead', ahead),
        ('Reason', request['reason'])))]
    for provider, reason in request['failures'].items():
        lines.append(f'Failed at {provider}: {reason}')
    if request['nodes']:
        lines.append(output.formatTable(
            ('Node', 'Label', 'State', 'Provider'), (
                (node['uuid'], node['label'] or '-', node['state'],
                 node['provider'] or '-') for node in request['nodes'])))
    return '\n'.join(lines)
