"""``zuul-nodes providers``: lists the providers, their limits and pauses."""

import datetime
import time

from zuul_nodes import nodeusage, providerstatus, zuulconf
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.cmd.common import limitlines, output
from zuul_nodes.exceptions import UserError
from zuul_nodes.suggestions import suggest

DESCRIPTION = '''\
List the providers of all tenants: what their nodes use of which limit, what
others than Zuul use of it, and whether the provider or a label of it is paused
and why.  Below is what their tenants use of the limits that zuul.conf sets for
them, at all providers.

The launcher that plans records limits, pauses and problems when they have
changed, at most once a minute.

The action "erase" removes the records of a provider that no tenant has any
more, without asking its cloud.  The command runs beside a running Zuul and
uses its zuul.conf.'''

COLUMNS = ('Provider', 'Connection', 'Nodes', 'Used of limits', 'State')
WIDTHS = {'Provider': 16, 'Connection': 12, 'Used of limits': 26, 'State': 26}
LIMIT_COLUMNS = ('Limit of', 'Resource', 'Limit', 'Used', 'Others use',
                 'Reserved', 'Free')
LABEL_COLUMNS = ('Label', 'Tenants', 'Building', 'Ready', 'Min-ready',
                 'In use', 'On hold', 'Failed', 'Paused')
ERASED_COLUMNS = ('Kind', 'Record', 'State', 'Endpoint', 'Id at the cloud')
ERASED_WIDTHS = {'Endpoint': 16, 'Id at the cloud': 20}
LABEL_WIDTHS = {'Label': 16, 'Tenants': 12, 'Paused': 16}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.set_defaults(provider=None, tenant=None, connection=None,
                        label=None, paused=False)
    actions = parser.add_subparsers(dest='action', metavar='ACTION')
    lister = actions.add_parser('list', help='list providers; the default')
    output.addCommonArguments(lister, is_list=True)
    for name, what in (('tenant', 'of this tenant'),
                       ('connection', 'with this connection'),
                       ('label', 'that offer this label')):
        lister.add_argument(f'--{name}', help=f'only providers {what}')
    lister.add_argument('--paused', action='store_true', help=(
        'only providers that are paused, or of which a label is'))
    shower = actions.add_parser('show', help='show all about a provider')
    output.addCommonArguments(shower, is_list=True)
    eraser = actions.add_parser(
        'erase', help='remove all records of a provider that is gone',
        description='Will remove the records of the nodes and uploads of a '
        'provider that no tenant has any more. What is in its cloud stays '
        'there.')
    output.addCommonArguments(eraser)
    eraser.add_argument('--yes', action='store_true', help=(
        'remove them; without it, the command only lists them'))
    for each in (shower, eraser):
        each.add_argument('provider', metavar='PROVIDER', help=(
            'the name of a provider'))


def run(args):
    if args.action == 'erase':
        return _erase(args)
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        providers = readProviders(zookeeper.client)
    if args.provider:
        result = find(providers, args.provider)
        text = formatProvider(result)
    else:
        result = [each for each in providers if isWanted(each, args)]
        text = '\n'.join([
            output.formatTable(COLUMNS, map(getRow, result), WIDTHS),
            *limitlines.format(result)])
    print(output.formatJSON(result) if args.format == 'json' else text)
    return 0


def _erase(args):
    from zuul_nodes.cmd.common.readonly import (
        CommandZooKeeper,
        ReadOnlyZooKeeper,
        connected,
    )
    from zuul_nodes.cmd.providers.erasure import Erasure
    with connected(
            zuulconf.read(args.config), CommandZooKeeper if args.yes
            else ReadOnlyZooKeeper) as zookeeper:
        erasure = Erasure(zookeeper, args.provider)
        if args.yes:
            erasure.erase()
    erased = erasure.toDict()
    if args.format == 'json':
        print(output.formatJSON(erased | {'done': args.yes}))
        return 0
    print(output.formatTable(ERASED_COLUMNS, (
        (kind, each['uuid'], each['state'], each['endpoint'] or '-',
         each['external_id'] or '-')
        for kind, key in (('node', 'nodes'), ('upload', 'uploads'))
        for each in erased[key]), ERASED_WIDTHS))
    print('These records are removed, those of nodes when their requests '
          'have ended. What has an id stays at the cloud.' if args.yes else
          'Nothing is removed. With --yes, these records are, and what has '
          'an id stays at the cloud.')
    return 0


def readProviders(client):
    """
    :param KazooClient client: may be read-only.
    :return: a list of dicts, for each provider one, sorted by name: as of
        :func:`.offers.readProviders`, with the attributes of a
        :class:`.providerstatus.Status`; each limit has ``used``, and each
        label its numbers of nodes.  ``tenant_limits`` are as of
        :func:`.limitlines.choose`.
    """
    from zuul_nodes.cmd.common import offers, zkobjects
    providers = offers.readProviders(client)
    nodes = zkobjects.readAll(client, offers.NODES, ['assignment'])
    counts = nodeusage.countNodes(nodes)
    for name, provider in providers.items():
        provider.update(
            {'endpoint': None, 'section': None, 'limits': None, 'pauses': [],
             'problem': None, 'nodes': 0}
            | (providerstatus.read(client, name) or {}))
        for label_name, label in provider['labels'].items():
            label.update(counts[name, label_name])
    for node in nodes:
        if node['provider'] in providers:
            providers[node['provider']]['nodes'] += 1
    used = nodeusage.sumUp(nodes, {
        name: each['section'] for name, each in providers.items()})
    tenant_limits = limitlines.read(client, nodes)
    for provider in providers.values():
        provider['tenant_limits'] = limitlines.choose(
            tenant_limits, provider['tenants'])
        for limit in provider['limits'] or ():
            limit['used'] = used[nodeusage.getAccount(
                provider['connection'], limit), limit['resource']]
    return list(providers.values())


def find(providers, name):
    """
    :param list providers: as of :func:`readProviders`.
    :param name: of one of them, short or canonical.
    :return: the provider.
    :raises UserError: there is none, or there are several.
    """
    found = [each for each in providers
             if name in (each['name'], getShortName(each['name']))]
    if not found:
        known = {getShortName(each['name']) for each in providers}
        raise UserError(f'there is no provider "{name}". '
                        f'{suggest(name, known)}')
    if len(found) > 1:
        names = ', '.join(each['name'] for each in found)
        raise UserError(f'several providers are called "{name}": {names}. '
                        'Use one of these names')
    return found[0]


def isWanted(provider, args):
    """:return: whether the arguments select a provider."""
    return (args.tenant in (None, *provider['tenants'])
            and args.connection in (None, provider['connection'])
            and args.label in (None, *provider['labels'])
            and bool(not args.paused or provider['pauses']))


def getRow(provider):
    """:return: the cells of the table for a provider."""
    lines = []
    for limit in provider['limits'] or ():
        # The limits that are not the provider's own are those of several.
        of = '' if limit['kind'] == 'provider' else f' ({limit["kind"]})'
        line = (f'{limit["used"]:g} of {limit["limit"]:g} '
                f'{limit["resource"]}{of}')
        if limit['foreign']:
            line += f', others {limit["foreign"]:g}'
        lines.append(line)
    state = [provider['problem']] if provider['problem'] else [
        describePause(each) for each in provider['pauses']]
    if not state:
        state = ['not recorded' if provider['limits'] is None else 'ok']
    return (getShortName(provider['name']), provider['connection'],
            provider['nodes'], '\n'.join(lines) or '-', '\n'.join(state))


def describePause(pause):
    """:return: what is paused, for how long and why, as text."""
    what = f'{pause["label"]} ' if pause['label'] else ''
    left = output.formatAge(pause['until'] - time.time())
    return f'{what}paused for {left}: {pause["reason"]}'


def formatProvider(provider):
    """:return: all about a provider, as text."""
    pauses = {each['label']: each for each in provider['pauses']}
    whole = pauses.get(None)
    until = whole and datetime.datetime.fromtimestamp(
        whole['until']).isoformat(' ', 'seconds')
    lines = [output.formatFields((
        ('Provider', provider['name']),
        ('Connection', provider['connection']),
        ('Endpoint', provider['endpoint']),
        ('Section', provider['section']),
        ('Tenants', ', '.join(provider['tenants'])),
        ('Nodes', str(provider['nodes'])),
        ('Problem', provider['problem']),
        ('Paused', whole and f'until {until}: {whole["reason"]}'),
        ('Limits', provider['limits'] is None and (
            'not recorded: no launcher of zuul-nodes has planned with it'))))]
    if provider['limits']:
        lines.append(output.formatTable(LIMIT_COLUMNS, (
            (limit['kind'], limit['resource'], *(
                f'{amount:g}' for amount in (
                    limit['limit'], limit['used'], limit['foreign'],
                    limit['reserved'],
                    providerstatus.getFree(limit, limit['used']))))
            for limit in provider['limits'])))
    if provider['labels']:
        lines.append(output.formatTable(LABEL_COLUMNS, (
            (name, ', '.join(label['tenants']), label['building'],
             label['ready'], label['min_ready'], label['in_use'],
             label['hold'], label['failed'], output.formatAge(
                 pauses[name]['until'] - time.time())
             if name in pauses else '-')
            for name, label in provider['labels'].items()), LABEL_WIDTHS))
    lines += limitlines.format([provider])
    lines += [f'Label {describePause(each)}' for each in provider['pauses']
              if each['label']]
    return '\n'.join(lines)
