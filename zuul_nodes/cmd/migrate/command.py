"""``zuul-nodes migrate``: converts the configuration of Nodepool."""

import argparse
import pathlib
import sys

from zuul_nodes import zuulconf
from zuul_nodes.cmd.common.output import addFormatArgument
from zuul_nodes.cmd.migrate import (
    asking,
    conversion,
    inputs,
    output,
    reading,
    state,
)
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.secrets import Secrets
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Convert the configuration of Nodepool to that of Zuul with zuul-nodes.  Name
the files of all launchers and builders of a site: they are read together.

    zuul-nodes migrate nodepool.yaml
    zuul-nodes migrate nl01.yaml nl02.yaml nb01.yaml --output migrated

The command writes images, flavors, labels, sections and providers, jobs and
pipelines for the disk images, the connections for zuul.conf, and a part of
the tenant configuration.  MIGRATION.md says what was done, what changes its
meaning, what is lost, and what a person has to decide, each with the line in
the file of Nodepool.  Secrets become placeholders, which it lists.

With --state, show what Nodepool has and does in the ZooKeeper of zuul.conf:
which labels it serves, its nodes, held nodes, requests, builds and uploads of
images, and how much of the clouds it uses.  Beside a running Nodepool, this
shows how far the move is:

    zuul-nodes migrate --state

With --check, ask the clouds afterwards whether they have all flavors, images
and networks, and show what a "min-ram" or the name of an image stands for;
"zuul-nodes check" does so at any time.

    zuul-nodes migrate nodepool.yaml --check -c /etc/zuul/zuul.conf

The command changes nothing of Nodepool.'''
EPILOG = '''\
exit status:
  0  the files are written, or the state is shown
  1  the configuration cannot be converted, and nothing is written; or
     ZooKeeper does not answer; or the clouds lack something
  2  wrong usage; or the clouds cannot be asked'''


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(refuse=parser.error)
    zuulconf.addConfigArgument(parser)
    addFormatArgument(parser)
    parser.add_argument(
        '--state', action='store_true',
        help='show what Nodepool has and does, instead of a conversion')
    parser.add_argument(
        '--check', action='store_true',
        help='ask the clouds whether they have what the files name. The '
             'connections are those of the zuul.conf that -c names, or of '
             'the written one')
    parser.add_argument(
        'files', nargs='*', type=pathlib.Path, metavar='FILE',
        help='a nodepool.yaml, of a launcher or a builder')
    parser.add_argument(
        '--secure', type=pathlib.Path, metavar='FILE',
        help="Nodepool's secure.conf; its secrets are not written")
    parser.add_argument(
        '--clouds', type=pathlib.Path, metavar='FILE',
        help='the clouds.yaml of OpenStack, to see whether it has all '
             'clouds, and for --check')
    parser.add_argument(
        '--env', action='append', type=inputs.parseVariable,
        metavar='NAME=VALUE',
        help='the value of a %%(NODEPOOL_NAME) in the files; may be '
             'repeated. By default, that of the environment')
    parser.add_argument(
        '--tenant', default='example', metavar='NAME',
        help='the tenant that gets the labels (default: %(default)s)')
    parser.add_argument(
        '--output', type=pathlib.Path, default=pathlib.Path('migrated'),
        metavar='DIR',
        help='directory for the files, empty or new (default: %(default)s)')
    parser.add_argument(
        '--force', action='store_true',
        help='replace files that are in the directory already')


def run(args):
    if args.state == bool(args.files) or (args.state and args.check):
        args.refuse('name files of Nodepool to convert them, or --state to '
                    'show what Nodepool does')
    if args.state:
        return state.run(args)
    _convert(args)
    return asking.run(args) if args.check else 0


def _convert(args):
    output.check(args.output, args.force)
    secrets = Secrets()
    environment = inputs.getEnvironment(args.env, secrets)
    # First, for its secrets may be in the other files as well.
    secure = (inputs.readSecure(args.secure, environment, secrets)
              if args.secure else {})
    names = [path.name for path in args.files]
    sources = [reading.read(path, environment, secrets, (
        path.name if names.count(path.name) == 1 else str(path)))
        for path in args.files]
    inputs.addSecure(sources, secure, args.secure)
    clouds = inputs.readClouds(args.clouds) if args.clouds else None
    try:
        result = conversion.convert(sources, secrets, args.tenant, clouds)
    except (TypeError, AttributeError, ValueError, LookupError) as error:
        # The message may contain a value.
        raise UserError(
            f'cannot convert {", ".join(names)}: a value is not of the type '
            f'that Nodepool expects ({type(error).__name__})') from error
    output.write(args.output, result.files)
    # The answers of --check follow.
    _print(args.output, result,
           sys.stderr if args.format == 'json' else sys.stdout)


def _print(directory, result, stream):
    counts = ', '.join(f'{number} {name}'
                       for name, number in result.counts.items())
    print(f'Written to {directory}: {counts}.', file=stream)
    decisions = result.report.count(Kind.DECIDE)
    print(f'{directory / conversion.MIGRATION} says what was done; '
          f'{decisions} remarks need a decision.', file=stream)
