"""``zuul-nodes run``: runs one of Zuul's commands with the plugin."""

import argparse
import importlib.metadata
import sys

from zuul_nodes import plugin, zuulconf
from zuul_nodes.exceptions import UserError

# These need ZooKeeper and take the arguments of a daemon.
SERVICES = ('zuul-scheduler', 'zuul-web', 'zuul-executor', 'zuul-launcher',
            'zuul-merger')


def addArguments(parser):
    parser.add_argument(
        'zuul_command', metavar='ZUUL-COMMAND',
        help='the command to run, for example zuul-scheduler')
    parser.add_argument(
        'arguments', metavar='...', nargs=argparse.REMAINDER,
        help='its arguments')


def run(args):
    commands = getZuulCommands()
    if args.zuul_command not in commands:
        raise UserError(
            f'"{args.zuul_command}" is not one of the commands of Zuul: '
            f'{", ".join(sorted(commands))}')
    path, is_service = zuulconf.parseArguments(args.arguments)
    if is_service and args.zuul_command in SERVICES:
        zuulconf.requireZooKeeper(zuulconf.read(path))
    # The command parses sys.argv as if it had been called directly.
    sys.argv = [args.zuul_command, *args.arguments]
    main = commands[args.zuul_command].load()
    if plugin.isDisabled():
        print(f'{plugin.DISABLE_VARIABLE} disables zuul-nodes; running '
              f'{args.zuul_command} without it', file=sys.stderr)
    plugin.install()
    return main()


def getZuulCommands():
    """:return: name -> entry point of the commands that Zuul installs."""
    return {entry_point.name: entry_point for entry_point
            in importlib.metadata.distribution('zuul').entry_points
            if entry_point.group == 'console_scripts'}
