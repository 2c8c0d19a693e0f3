"""The ``zuul-nodes`` command.

A subcommand is a module or, if it needs several, a folder.  It defines

``addArguments(parser)``
    adds its arguments,
``run(args)``
    does the work and returns the exit status; raises
    :class:`~zuul_nodes.exceptions.UserError` for errors that the user can
    correct.

A subcommand's module is imported only when it is used, so ``zuul-nodes
--help`` does not import Zuul.
"""

import argparse
import importlib
import os
import sys

import zuul_nodes
from zuul_nodes.exceptions import UserError

# name -> help text.  The module is zuul_nodes.cmd.<name>, without hyphens.
SUBCOMMANDS = {
    'check': 'check that a cloud has the resources that a provider names',
    'dib-test': 'boot and test an image file in an OpenStack cloud',
    'doctor': 'check that the plugin is complete and fits the installed Zuul',
    'explain': 'explain where the attributes of a node are set',
    'images': 'list the builds of images and manage them',
    'labels': 'list the labels, who offers them and their nodes',
    'launcher': 'run the launcher as a separate process',
    'launchers': 'list the launchers and show which one plans',
    'leaks': 'list what the clean-up of clouds is going to delete',
    'migrate': 'convert the configuration of Nodepool, and show its state',
    'new-driver': 'write a package with a driver for another cloud',
    'nodes': 'list the nodes, hold, release and delete them',
    'providers': 'list the providers and their limits, and erase those that '
                 'are gone',
    'quickstart': 'run a complete Zuul on this machine and a job on it',
    'requests': 'list the requests for nodes and why they wait, and cancel '
                'them',
    'run': "run one of Zuul's commands with the plugin installed",
    'tenants': 'list the tenants and what their nodes use',
    'uploads': 'list the uploads of images to the endpoints of clouds',
}

# Nodepool's commands -> what takes their place.
FORMER = {
    'alien-image-list': 'leaks',
    'config-validate': 'doctor',
    'delete': 'nodes delete',
    'dib-image-delete': 'images delete',
    'dib-image-list': 'images list',
    'dib-request-list': 'images list',
    'erase': 'providers erase',
    'hold': 'nodes hold',
    'image-build': 'images build',
    'image-delete': 'images delete',
    'image-list': 'uploads',
    'image-pause': 'images pause',
    'image-status': 'images list',
    'image-unpause': 'images resume',
    'info': 'providers show',
    'list': 'nodes list',
    'request-list': 'requests list',
}


def createParser(name=None):
    """:param name: the subcommand whose arguments to add."""
    parser = argparse.ArgumentParser(
        prog='zuul-nodes',
        description='Node and image management inside the Zuul scheduler.',
        epilog='See "zuul-nodes COMMAND --help" for the arguments of a '
               'command.')
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
    """:return: the exit status: 0 success, 1 failure, 2 wrong usage."""
    if '_ARGCOMPLETE' in os.environ:
        return complete(os.environ.get('COMP_LINE', ''))
    argv = sys.argv[1:] if argv is None else argv
    name = next((arg for arg in argv if not arg.startswith('-')), None)
    parser = createParser(name)
    if name is not None and name not in SUBCOMMANDS:
        parser.error(explainUnknown(name))
    args = parser.parse_args(argv)
    try:
        if getattr(args, 'watch', None):
            from zuul_nodes.cmd.common.watching import watch
            status = watch(args, parser.error)
        else:
            status = args.run(args)
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f'zuul-nodes {name}: {error}', file=sys.stderr)
        return 1
    except BrokenPipeError:
        if not leaveOutput():
            raise
        return 1


def leaveOutput():
    """Write nothing more if the reader of the output is gone, such as
    ``head``.

    :return: whether the reader is gone.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python writes what is left when it ends.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        return True
    return False


def complete(line):
    """Answer a shell that completes a command line.

    The shell calls the command as argcomplete defines it, with the line in the
    environment.

    :param line: as far as it is typed.
    :return: the exit status.
    """
    try:
        import argcomplete
    except ImportError:
        return 1
    name = next((word for word in line.split() if word in SUBCOMMANDS), None)
    # This ends the process.
    argcomplete.autocomplete(createParser(name))
    return 1


def explainUnknown(name):
    """:return: the message about a command that does not exist."""
    from zuul_nodes.suggestions import suggest
    if name in FORMER:
        return (f'"{name}" is a command of Nodepool. '
                f'{suggest(FORMER[name], [FORMER[name]])}')
    return f'there is no command "{name}". {suggest(name, SUBCOMMANDS)}'
