"""The ``zuul-nodes`` command.

Each subcommand is a module, or a folder if it needs several, and has

``addArguments(parser)``
    its arguments,
``run(args)``
    the work; returns the exit status, raises
    :class:`~zuul_nodes.exceptions.UserError` for what the user can put
    right.

A subcommand's module is imported only when it is used: ``zuul-nodes
--help`` does not import Zuul.
"""

import argparse
import importlib
import sys

import zuul_nodes
from zuul_nodes.exceptions import UserError

# name -> what it is for; the module is zuul_nodes.cmd.<name>, without
# hyphens.
SUBCOMMANDS = {
    'check': 'ask a cloud whether it has what a provider names',
    'dib-test': 'try an image file in an OpenStack cloud',
    'doctor': 'check that the plugin is whole and fits the installed Zuul',
    'explain': 'tell where the attributes of a node come from',
    'images': 'show the builds of images, and steer them',
    'launcher': 'run the launcher as a process of its own',
    'new-driver': 'write a package with a driver for another cloud',
    'quickstart': 'run a complete Zuul on this machine and a job on it',
    'run': "run one of Zuul's commands with the plugin installed",
}


def createParser(name=None):
    """:param name: the subcommand whose arguments to add."""
    parser = argparse.ArgumentParser(
        prog='zuul-nodes',
        description='Node and image management inside the Zuul scheduler.',
        epilog='"zuul-nodes COMMAND --help" tells more about a command.')
    parser.add_argument(
        '--version', action='version',
        version=f'zuul-nodes {zuul_nodes.__version__}')
    subparsers = parser.add_subparsers(
        dest='subcommand', metavar='COMMAND', required=True)
    for subcommand, help_text in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(
            subcommand, help=help_text,
            description=help_text[0].upper() + help_text[1:] + '.')
        if subcommand == name:
            module = importlib.import_module(
                f'zuul_nodes.cmd.{name.replace("-", "")}')
            module.addArguments(subparser)
            subparser.set_defaults(run=module.run)
    return parser


def main(argv=None):
    """:return: the exit status: 0 done, 1 failed, 2 wrong usage."""
    argv = sys.argv[1:] if argv is None else argv
    name = next((arg for arg in argv if arg in SUBCOMMANDS), None)
    args = createParser(name).parse_args(argv)
    try:
        return args.run(args)
    except UserError as error:
        print(f'zuul-nodes {name}: {error}', file=sys.stderr)
        return 1
