"""``zuul-nodes launchers``: lists the launchers and shows which one plans."""

import time

from zuul_nodes import candidates, zuulconf
from zuul_nodes.cmd.common import components, output

DESCRIPTION = '''\
List the launchers of a Zuul.  One of them plans: it decides which requests get
which nodes.  The others launch and delete their share of the nodes; when the
planner ends, the next in line plans.

Launchers of Zuul's own are listed, too, with "no" in the column "Plans".  They
serve their share of the requests for themselves.

A launcher that cannot log in at the endpoint of a cloud leaves its share there
to the others.  Lines below the table say where, for how long and why.

The command only reads ZooKeeper.  It runs beside a running Zuul and uses its
zuul.conf.'''

COLUMNS = ('Launcher', 'State', 'Plans', 'Runs in', 'Connections', 'Zuul')
ALONE = 'its own process'


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)


def run(args):
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        launchers = readLaunchers(zookeeper.client)
    if args.format == 'json':
        print(output.formatJSON(launchers))
        return 0
    print(output.formatTable(COLUMNS, map(getRow, launchers)))
    now = time.time()
    for each in launchers:
        for withdrawn in each['withdrawn']:
            print(f'{each["name"]} has not been able to log in at endpoint '
                  f'{withdrawn["endpoint"]} for '
                  f'{output.formatAge(now - withdrawn["since"])}: '
                  f'{withdrawn["reason"]}')
    if not any(each['plans'] for each in launchers):
        print('No launcher of zuul-nodes plans: requests for nodes wait.')
    return 0


def readLaunchers(client):
    """
    :return: a list of dicts, for each registered launcher one, in the order
        in which they plan.
    """
    line = {each.launcher: (position, each) for position, each
            in enumerate(candidates.read(client))}
    launchers = []
    for component in components.readLaunchers(client):
        position, candidate = line.get(component['hostname'], (None, None))
        launchers.append({
            'name': component['hostname'],
            'state': component['state'],
            'plans': position == 0,
            'position': position,
            'embedded': candidate.is_embedded if candidate else None,
            'connections': component.get('connection_filter'),
            'zuul_version': component.get('version'),
            'withdrawn': components.getWithdrawals(component),
        })
    return sorted(launchers, key=lambda each: (
        each['position'] is None, each['position'] or 0, each['name']))


def getRow(launcher):
    """:return: the cells of the table for a launcher."""
    position = launcher['position']
    if position is None:
        plans = 'no'
    else:
        plans = f'next ({position})' if position else 'yes'
    runs_in = {True: 'a scheduler', False: ALONE, None: '-'}
    return (launcher['name'], launcher['state'], plans,
            runs_in[launcher['embedded']],
            ', '.join(launcher['connections'] or ['all']),
            launcher['zuul_version'] or '-')
