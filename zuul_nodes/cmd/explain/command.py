"""``zuul-nodes explain``: explains where a node's attributes are set."""

import argparse
import contextlib
import logging
import sys

from zuul_nodes import plugin, zuulconf
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.cmd.common.waiting import Overdue, Waiting, leave
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Print the attributes of the nodes that a provider launches for a label.  For
each attribute, print its value, the stanza that sets it with file and line,
and the settings that it overrides.

The command reads the configuration of a running Zuul, through its zuul.conf,
and changes nothing.'''


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    parser.add_argument('-d', dest='debug', action='store_true',
                        help='log debug messages to standard error')
    parser.add_argument(
        '--tenant', metavar='NAME',
        help='the tenant; needed if several tenants have a provider of that '
             'name')
    parser.add_argument(
        '--timeout', type=arguments.seconds, default=60, metavar='SECONDS',
        help='how long to wait for each of ZooKeeper, the lock of the tenant '
             'and its configuration (default: %(default)s)')
    output.addFormatArgument(parser)
    parser.add_argument('provider', help='the name of a provider')
    parser.add_argument('label', help='the name of one of its labels')


def run(args):
    config = zuulconf.read(args.config)
    zuulconf.requireZooKeeper(config)
    if not plugin.install(reading=True):
        raise UserError('the plugin cannot be used here; '
                        '"zuul-nodes doctor" explains why')
    if args.debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    else:
        # Zuul logs every other error in the tenant's configuration.
        logging.basicConfig(handlers=[logging.NullHandler()])
    # Imports Zuul, which plugin.install() has checked.
    from zuul_nodes.cmd.common.connections import Connections
    from zuul_nodes.cmd.common.tenants import Tenants
    waiting = Waiting(args.timeout)
    tenants = Tenants(config, Connections(config), waiting)
    overdue = None
    try:
        explained = waiting.runWork(lambda: explain(
            tenants, args.tenant, args.provider, args.label))
    except (Overdue, KeyboardInterrupt) as error:
        overdue = error
    finally:
        # Release the lock for the schedulers, and end calls to ZooKeeper.
        with contextlib.suppress(Exception):
            tenants.close()
    if overdue is not None:
        # Threads of Zuul's code may never finish.
        leave(f'zuul-nodes explain: {str(overdue) or "interrupted"}')
    if args.format == 'json':
        print(output.formatJSON(explained.getData()))
    else:
        print(explained.getText())
    return 0


def explain(tenants, tenant_name, provider_name, label_name):
    """
    :param Tenants tenants: not yet open.
    :param str tenant_name: None to search all tenants.
    :return: an :class:`~zuul_nodes.cmd.explain.explanation.Explained`.
    :raises UserError: there is no such tenant, provider or label, or the
        provider is in error.
    """
    from zuul_nodes.cmd.common.choice import choose
    from zuul_nodes.cmd.explain.explanation import Explained
    tenants.open()
    if tenant_name:
        tenant = tenants.loadTenant(tenant_name)
    else:
        tenant = choose(map(tenants.loadTenant, tenants.loaded), provider_name)
    return Explained(tenant, tenants.connections.connections,
                     provider_name, label_name)
