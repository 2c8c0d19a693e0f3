"""``zuul-nodes labels``: lists the labels, who offers them and their nodes."""

import collections

from zuul_nodes import nodeusage, requestlist, zuulconf
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import limitlines, output

DESCRIPTION = '''\
List the labels of all tenants: the providers that offer each of them, how many
nodes there are in which state, and how many nodes requests wait for.

Below the list are the times at which another number of nodes of a label is
kept ready (min-ready-times), and what the tenants use of the limits that
zuul.conf sets for them, at all providers.

Waiting requests may get the nodes from any provider of the label, so their
number is in its first row.  A label that requests wait for and that no
provider offers is listed, too.

The command only reads ZooKeeper.  It runs beside a running Zuul and uses its
zuul.conf.'''

COLUMNS = ('Label', 'Provider', 'Tenants', 'Waiting', 'Building', 'Ready',
           'Min-ready', 'In use', 'On hold')
WIDTHS = {'Label': 18, 'Provider': 14, 'Tenants': 14}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.add_argument('--tenant', help='only labels of this tenant')
    parser.add_argument('--label', help='only the label with this name or '
                                        'alias')
    parser.add_argument('--provider', help='only labels of this provider')


def run(args):
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        labels = readLabels(zookeeper.client, args.tenant)
    labels = [each for each in labels if isWanted(each, args)]
    if args.format == 'json':
        print(output.formatJSON(labels))
    else:
        print('\n'.join([output.formatTable(
            COLUMNS, [row for each in labels for row in getRows(each)],
            WIDTHS), *getTimes(labels), *limitlines.format(labels)]))
    return 0


def readLabels(client, tenant=None):
    """
    :param KazooClient client: may be read-only.
    :param tenant: the name of a tenant; None for all.
    :return: a list of dicts, for each label one, sorted by name.
    """
    from zuul_nodes.cmd.common import offers, zkobjects
    labels = {}
    nodes = zkobjects.readAll(client, offers.NODES, ['assignment'])
    counts = nodeusage.countNodes(nodes)
    limits = limitlines.read(client, nodes)
    for provider in offers.readProviders(client).values():
        for name, offer in provider['labels'].items():
            if tenant not in (None, *offer['tenants']):
                continue
            label = labels.setdefault((name, offer['project']), _makeLabel(
                name, offer['project'], offer['aliases']))
            label['providers'].append({
                'provider': provider['name'], 'tenants': offer['tenants'],
                'min_ready': offer['min_ready'],
                'min_ready_times': offer['min_ready_times'],
                'max_nodes': offer['max_nodes'],
                **counts[provider['name'], name]})
    _addWaiting(labels, [
        request for request in zkobjects.readAll(client, requestlist.REQUESTS)
        if request['state'] == requestlist.WAITING
        and tenant in (None, request['tenant_name'])])
    for label in labels.values():
        label['tenant_limits'] = limitlines.choose(limits, {
            name for each in label['providers'] for name in each['tenants']
            if tenant in (None, name)})
    return [label for _, label in sorted(
        labels.items(), key=lambda item: (item[0][0], item[0][1] or ''))]


def _makeLabel(name, project, aliases):
    return {'label': name, 'project': project, 'aliases': aliases,
            'waiting': 0, 'providers': []}


def _addWaiting(labels, requests):
    """Count the nodes that requests wait for."""
    offered = {
        (tenant_name, name): label for label in list(labels.values())
        for offer in label['providers'] for tenant_name in offer['tenants']
        for name in (label['label'], *label['aliases'])}
    wanted = collections.Counter(
        (request['tenant_name'], name)
        for request in requests for name in request['labels'])
    for (tenant_name, name), number in wanted.items():
        label = offered.get((tenant_name, name)) or labels.setdefault(
            (name, None), _makeLabel(name, None, []))
        label['waiting'] += number


def getTimes(labels):
    """:return: yields a line for each label that has other numbers of ready
        nodes at some times, with the providers where they are the same."""
    for label in labels:
        names = collections.defaultdict(list)
        for offer in label['providers']:
            if offer['min_ready_times']:
                names[offer['min_ready_times']].append(
                    getShortName(offer['provider']))
        for times, providers in names.items():
            yield (f'Min-ready of {label["label"]} at '
                   f'{", ".join(providers)}: {times}')


def isWanted(label, args):
    """:return: whether the arguments select a label."""
    return (args.label in (None, label['label'], *label['aliases'])
            and (args.provider is None or any(
                args.provider in (each['provider'],
                                  getShortName(each['provider']))
                for each in label['providers'])))


def getRows(label):
    """:return: yields the cells of the table for a label."""
    first = label['label'], str(label['waiting'])
    if not label['providers']:
        yield first[0], 'none', '-', first[1], *['-'] * 5
    for offer in label['providers']:
        yield (first[0], getShortName(offer['provider']),
               ', '.join(offer['tenants']), first[1], offer['building'],
               offer['ready'], offer['min_ready'], offer['in_use'],
               offer['hold'])
        first = '', ''
