"""``zuul-nodes explain``: where do the attributes of a node come from?"""

import argparse
import contextlib
import logging
import sys

from zuul_nodes import plugin, zuulconf
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.cmd.common.waiting import Overdue, Waiting, leave
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Print the attributes of the nodes that a provider makes for a label: each
with its value, the stanza that it comes from with file and line, and what
it overrides there.

It runs beside a running Zuul, with its zuul.conf, and shows what is in
force.  Nothing is changed.'''


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    parser.add_argument('-d', dest='debug', action='store_true',
                        help='log debug messages to standard error')
    parser.add_argument(
        '--tenant', metavar='NAME',
        help='the tenant; needed if several have a provider of that name')
    parser.add_argument(
        '--timeout', type=arguments.seconds, default=60, metavar='SECONDS',
        help='how long to wait for ZooKeeper, for the lock of a tenant and '
             'for its configuration, each (default: %(default)s)')
    output.addFormatArgument(parser)
    parser.add_argument('provider', help='the name of a provider')
    parser.add_argument('label', help='the name of a label that it has')


def run(args):
    config = zuulconf.read(args.config)
    zuulconf.requireZooKeeper(config)
    if not plugin.install():
        raise UserError('the plugin can not be used here; '
                        '"zuul-nodes doctor" tells why')
    if args.debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    else:
        # Zuul logs what is wrong with whatever else a tenant has.
        logging.basicConfig(handlers=[logging.NullHandler()])
    # Only now is it known that Zuul is as it should be.
    from zuul_nodes.cmd.common.tenants import Tenants, connect
    waiting = Waiting(args.timeout)
    tenants = Tenants(config, connect(config), waiting)
    overdue = None
    try:
        explained = waiting.run(lambda: explain(
            tenants, args.tenant, args.provider, args.label))
    except (Overdue, KeyboardInterrupt) as error:
        overdue = error
    finally:
        # No scheduler shall wait for our lock, nor we for ZooKeeper.
        with contextlib.suppress(Exception):
            tenants.close()
    if overdue is not None:
        # Threads of Zuul's may still wait for what does not come.
        leave(f'zuul-nodes explain: {str(overdue) or "interrupted"}')
    if args.format == 'json':
        print(output.formatJSON(explained.getData()))
    else:
        print(explained.getText())
    return 0


def explain(tenants, tenant_name, provider_name, label_name):
    """
    :param Tenants tenants: not yet open.
    :param str tenant_name: or None, to look in all of them.
    :return: an :class:`~zuul_nodes.cmd.explain.explanation.Explained`.
    :raises UserError: there is nothing to explain.
    """
    from zuul_nodes.cmd.common.choice import choose
    from zuul_nodes.cmd.explain.explanation import Explained
    tenants.open()
    if tenant_name:
        tenant = tenants.load(tenant_name)
    else:
        tenant = choose(map(tenants.load, tenants.loaded), provider_name)
    return Explained(tenant, tenants.connections.connections,
                     provider_name, label_name)
