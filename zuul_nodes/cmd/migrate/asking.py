"""``zuul-nodes migrate --check``: asks the clouds about what was written."""

import argparse
import os

from zuul_nodes.cmd import check
from zuul_nodes.cmd.migrate.conversion import CONNECTIONS, NODES
from zuul_nodes.exceptions import UserError

# With this variable, openstacksdk finds the file as for --clouds.
CLOUDS = 'OS_CLIENT_CONFIG_FILE'


def run(args):
    """Check the written files as ``zuul-nodes check`` does.

    :param args: of the command: ``config``, ``output``, ``clouds``,
        ``format``.
    :return: the exit status of that command, which ends the process.
    :raises UserError: there are no connections to ask.
    """
    conf = args.config or args.output / CONNECTIONS
    if not os.path.exists(conf):
        raise UserError('no provider is in a cloud, so there is nothing to '
                        'ask')
    if args.clouds:
        os.environ[CLOUDS] = os.path.abspath(args.clouds)
    parser = argparse.ArgumentParser()
    check.addArguments(parser)
    files = [part for path in sorted((args.output / NODES).glob('*.yaml'))
             for part in ('--files', str(path))]
    return check.run(parser.parse_args([
        '-c', str(conf), '--found', '--format', args.format, *files]))
