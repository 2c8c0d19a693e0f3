"""``zuul-nodes migrate --state``: what Nodepool still has and does."""

import datetime

from zuul_nodes import zuulconf
from zuul_nodes.cmd.common import output

LABELS = ('Label', 'Served by', 'Ready', 'In use', 'Held', 'Other',
          'Requests', 'Tenants')
PROVIDERS = ('Provider', 'Ready', 'In use', 'Held', 'Other', 'Usage')
HELD = ('Node', 'Label', 'Provider', 'Held for', 'Until')
REQUESTS = ('Request', 'State', 'Labels', 'Tenant', 'Since')
IMAGES = ('Image', 'Build', 'Provider', 'State', 'Since')
# The tables have no more than 100 columns.
WIDTHS = {'Label': 18, 'Served by': 18, 'Tenants': 11, 'Usage': 34,
          'Node': 10, 'Held for': 22, 'Until': 16, 'Since': 16,
          'Request': 14, 'State': 9, 'Labels': 24, 'Tenant': 14,
          'Image': 24, 'Build': 12, 'Provider': 18}


def run(args):
    """
    :param args: of the command: ``config``, ``format``.
    :return: the exit status.
    :raises UserError: ZooKeeper does not answer.
    """
    from zuul_nodes.cmd.common.readonly import connected
    from zuul_nodes.cmd.migrate import nodepoolrecords, usage
    with connected(zuulconf.read(args.config)) as zookeeper:
        records = nodepoolrecords.read(zookeeper.client)
        offers = nodepoolrecords.readOffers(zookeeper.client)
    state = usage.summarize(records, offers)
    if args.format == 'json':
        print(output.formatJSON(state))
    elif usage.isEmpty(records):
        print(f'ZooKeeper at {zookeeper.hosts} has no records of Nodepool: '
              f'no launcher, no builder, no node, no request, no image.')
    else:
        print('\n\n'.join(_write(state)))
    return 0


def _write(state):
    """:return: yields the parts of the text."""
    yield _countProcesses(state)
    if state['labels']:
        yield _writePart(
            'Labels', LABELS, map(_getLabelRow, state['labels']),
            'In the tenants in the last column, the launchers of Zuul serve '
            'the label, unless\na job also needs a label that its tenant '
            'lacks: Nodepool serves such a job whole.')
        yield from _remarkLabels(state['labels'])
    if state['providers']:
        yield _writePart(
            'Usage that the launchers of Zuul count as that of others',
            PROVIDERS, map(_getProviderRow, state['providers']),
            'Static nodes have no usage: Zuul does not see what runs on them. '
            'Remove a\nmachine from Nodepool before a provider of Zuul gets '
            'it.')
    held = [node for node in state['nodes'] if node['state'] == 'hold']
    for title, columns, rows, remark in (
            ('Held nodes', HELD, map(_getHeldRow, held),
             'Nodepool has to run until they are deleted.'),
            ('Requests', REQUESTS, map(_getRequestRow, state['requests']),
             'They stay with Nodepool, even if their labels move.'),
            ('Builds and uploads of images', IMAGES, _getImageRows(state),
             'No launcher of Zuul uses these or deletes them.')):
        if cells := list(rows):
            yield _writePart(title, columns, cells, remark)


def _writePart(title, columns, rows, remark):
    table = output.formatTable(columns, list(rows), {
        name: width for name, width in WIDTHS.items() if name in columns})
    return f'{title}:\n{table}\n{remark}'


def _countProcesses(state):
    launchers = {pool['hostname'] for pool in state['pools']}
    text = (f'Pools of launchers of Nodepool that run: {len(state["pools"])}, '
            f'on {", ".join(sorted(launchers))}.' if launchers
            else 'No launcher of Nodepool runs: requests for its labels wait.')
    if state['builders']:
        text += ('\nBuilders of Nodepool that run: '
                 f'{", ".join(sorted(set(state["builders"])))}.')
    return text


def _remarkLabels(labels):
    for found, text in (
            ([each for each in labels
              if each['requests'] and not each['pools']],
             'Requests wait for these labels, which no launcher of Nodepool '
             'serves'),
            ([each for each in labels
              if each['tenants'] and each['nodes']['ready']],
             'Nodepool keeps ready nodes of these labels, which have moved; '
             'set "min-ready: 0"\nthere when all tenants have moved')):
        if found:
            yield f'{text}: {", ".join(each["label"] for each in found)}.'


def _getLabelRow(label):
    return (label['label'], '\n'.join(label['pools']) or '-',
            *label['nodes'].values(), label['requests'],
            '\n'.join(label['tenants']) or '-')


def _getProviderRow(provider):
    return (provider['provider'] or '-', *provider['nodes'].values(),
            ', '.join(f'{name} {number}' for name, number
                      in provider['usage'].items()) or '-')


def _getHeldRow(node):
    held = ': '.join(filter(None, (node['hold_job'], node['comment'])))
    end = 'deleted by hand'
    if node['hold_expiration'] and node['state_time']:
        end = _formatTime(node['state_time'] + int(node['hold_expiration']))
    return (node['id'], ', '.join(node['labels']), node['provider'],
            _printable(held) or '-', end)


def _getRequestRow(request):
    return (request['id'], request['state'], ', '.join(request['labels']),
            request['tenant_name'] or '-', _formatTime(request['state_time']))


def _getImageRows(state):
    for image in state['images']:
        name = f'{image["name"]} (paused)' if image['paused'] else (
            image['name'])
        for build in image['builds']:
            for part, where in ((build, '-'), *(
                    (upload, upload['provider'])
                    for upload in build['uploads'])):
                yield (name, build['id'][:WIDTHS['Build']], where,
                       part['state'], _formatTime(part['state_time']))


def _printable(text):
    """:return: what people have written, without control characters."""
    return ''.join(each if each.isprintable() else ' ' for each in text)


def _formatTime(seconds):
    """:return: a time of Nodepool, in UTC, to the minute."""
    if not isinstance(seconds, int | float):
        return '-'
    return datetime.datetime.fromtimestamp(
        seconds, datetime.UTC).strftime('%Y-%m-%d %H:%M')
