"""``zuul-nodes check``: checks a provider's resources in its cloud."""

import argparse
import atexit
import contextlib
import logging
import os
import sys
import threading

from zuul_nodes import messages, plugin, zuulconf
from zuul_nodes.cmd.check.asking import Result, ask, count
from zuul_nodes.cmd.common import arguments, output
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Check that the cloud has every resource that the configuration of a provider
names: images, flavors, networks, keys, zones, permissions, quota.  Print the
problems as a table.  The command changes nothing.

Without files, check a provider of the running Zuul.  With files, check the
providers in them before they merge: the files must contain every object that
the providers use.  All providers in the files are checked, unless some are
named.  Connections are read from zuul.conf.

    zuul-nodes check PROVIDER
    zuul-nodes check zuul.d/*.yaml
    zuul-nodes check --files . PROVIDER'''
EPILOG = '''\
exit status:
  0  no problems
  1  there are problems, or the cloud did not answer
  2  nothing could be checked: wrong usage, no such provider, an error in the
     configuration of each provider, no ZooKeeper'''
WRONG, UNABLE = 1, 2
# Maximum number of names in a cell of the table.
MOST_NAMES = 3
# Seconds that clouds and libraries have to shut down.
ENDING = 5
COLUMNS = ('provider', 'object', 'what', 'name', 'problem', 'found')
WIDTHS = {'provider': 20, 'object': 30, 'name': 40, 'problem': 60,
          'found': 40}


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        '--files', action='append', metavar='PATH',
        help='a YAML file with Zuul configuration, or the directory of a '
             'project that contains some (zuul.yaml, zuul.d, .zuul.yaml or '
             '.zuul.d); may be repeated')
    source.add_argument(
        '--tenant', metavar='NAME',
        help='the tenant of a running Zuul; needed if several tenants have a '
             'provider of that name')
    parser.add_argument(
        '--timeout', type=arguments.seconds, default=60, metavar='SECONDS',
        help='time-out for each question to the cloud (default: %(default)s)')
    parser.add_argument(
        '--full', action='store_true',
        help="show clouds' messages with the accounts, addresses and file "
             'names in them, which readers of job logs should not see')
    parser.add_argument(
        '--found', action='store_true',
        help='also show what names and sizes stand for in the cloud, such as '
             'the flavor of a "min-ram" and the image of a name')
    parser.add_argument('--all', action='store_true',
                        help='also show what has no problem')
    output.addFormatArgument(parser)
    parser.add_argument(
        'provider', nargs='*', metavar='PROVIDER|FILE',
        help='the name of a provider, or a path as for --files if it ends '
             'with .yaml or contains a slash')


def run(args):
    closing = contextlib.ExitStack()
    try:
        status = check(args, closing)
    except UserError as error:
        status = _fail(error)
    except KeyboardInterrupt:
        status = _fail('interrupted')
    except Exception as error:
        show = messages.withoutSecrets if args.full else messages.forTenants
        status = _fail(show(f'{type(error).__name__}: {error}'))
    _doInTime(closing.close)
    leave(status)
    return status


def _fail(error):
    print(f'zuul-nodes check: {error}', file=sys.stderr)
    return UNABLE


def _doInTime(function):
    """Run a function in a thread, and wait for it only for a limited time."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(ENDING)


def leave(status):
    """End the process, even if threads still wait for a cloud."""
    # Some libraries remove temporary files with keys in exit functions.
    _doInTime(atexit._run_exitfuncs)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def check(args, closing):
    """
    :param ExitStack closing: receives the callbacks that release resources.
    :return: the exit status.
    """
    _sortArguments(args)
    config = zuulconf.read(args.config)
    if not args.files:
        zuulconf.requireZooKeeper(config)
    if not plugin.install(reading=True):
        raise UserError('the plugin cannot be used here; '
                        '"zuul-nodes doctor" explains why')
    # Client libraries log their requests, which contain secrets.
    logging.basicConfig(handlers=[logging.NullHandler()])
    from zuul_nodes.cmd.check import providers
    find = (providers.findInFiles if args.files else providers.findInZuul)
    found, errors = find(config, args)
    for driver in {provider.driver for provider in found}:
        closing.callback(driver.stop)
    report = ask(found, args.timeout, sys.stderr, args.full)
    errors.update(report.errors)
    if errors and not report.results:
        raise UserError('; '.join(errors.values()))
    results = [*(Result([name], [f'provider {name}'], 'configuration', name,
                        error) for name, error in errors.items()),
               *report.results]
    wrong = [result for result in results if result.problem]
    shown = [each for each in results if args.all or each.problem
             or (args.found and each.found)]
    if args.format == 'json':
        print(output.formatJSON([each.toDict() for each in shown]))
        return WRONG if wrong else 0
    if shown:
        columns = [name for name in COLUMNS
                   if name != 'found' or args.found or args.all]
        print(output.formatTable(
            columns, [[each.toDict(_shorten)[name] for name in columns]
                      for each in shown],
            {name: WIDTHS[name] for name in columns if name in WIDTHS}))
    asked = count(len(results), 'question')
    print((f'{len(wrong)} of {asked} found a problem.' if wrong
           else f'No problems: {asked}.') + (
        f' Skipped, without access: {report.left_out}.'
        if report.left_out else ''))
    return WRONG if wrong else 0


def _sortArguments(args):
    """Move those arguments that are files to ``args.files``.

    :raises UserError: neither a provider nor files are named, or the options
        contradict each other.
    """
    # Positional arguments, so that the shell can expand a pattern.
    paths = [each for each in args.provider
             if ('/' in each or each.endswith('.yaml'))
             and os.path.exists(each)]
    args.files = [*(args.files or ()), *paths]
    args.provider = [each for each in args.provider if each not in paths]
    if not args.files and not args.provider:
        raise UserError('name a provider of the running Zuul, or files')
    if args.files and args.tenant:
        raise UserError('--tenant selects a provider of the running Zuul; it '
                        'cannot be used with files')


def _shorten(names):
    """:return: the first names, and the number of the others."""
    more = len(names) - MOST_NAMES
    return ', '.join(names[:MOST_NAMES]) + (
        f' and {more} more' if more > 0 else '')
