"""``zuul-nodes leaks``: lists what the clean-up of clouds will delete."""

import time

from zuul_nodes import leakrecords, zuulconf
from zuul_nodes.cmd.common import arguments, output

DESCRIPTION = '''\
List what launchers have found at the endpoints of clouds that has the tags of
this Zuul, while no record of a node or an upload needs it any more.  Launchers
delete it when they have found it in two rounds, which are a minute apart, and
no record has appeared.  A deletion that fails is repeated; the list shows why
it has failed.

The launcher that cleans an endpoint up records this after each round.  The
command only reads ZooKeeper.  It runs beside a running Zuul and uses its
zuul.conf.'''

COLUMNS = ('Endpoint', 'Type', 'Id', 'Of', 'Found', 'Deletions', 'Error')
WIDTHS = {'Endpoint': 16, 'Type': 12, 'Id': 18, 'Error': 16}


def addArguments(parser):
    output.addListArguments(parser, DESCRIPTION)
    parser.add_argument('--endpoint', help='only what is at this endpoint')
    parser.add_argument(
        '--type', help='only resources of this type, such as "instance"')
    arguments.addOlderThan(parser, 'what has been found')


def run(args):
    from zuul_nodes.cmd.common.readonly import connected
    with connected(zuulconf.read(args.config)) as zookeeper:
        leaks = leakrecords.readAll(zookeeper.client)
    now = time.time()
    leaks = [{**each, 'age': round(now - each['since'])} for each in leaks]
    leaks = [each for each in leaks
             if args.endpoint in (None, each['endpoint'])
             and args.type in (None, each['type'])
             and (args.older_than is None or each['age'] > args.older_than)]
    print(output.formatJSON(leaks) if args.format == 'json'
          else output.formatTable(COLUMNS, map(getRow, leaks), WIDTHS))
    return 0


def getRow(leak):
    """:return: the cells of the table for a resource."""
    owner = next((f'{kind} {leak[kind][:8]}' for kind in ('node', 'upload')
                  if leak[kind]), '-')
    return (leak['endpoint'], leak['type'], leak['id'], owner,
            output.formatAge(leak['age']), leak['attempts'],
            leak['error'] or '-')
