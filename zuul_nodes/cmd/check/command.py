"""``zuul-nodes check``: has the cloud what the configuration names?"""

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
Ask the cloud whether what the configuration of a provider names is there:
images, flavors, networks, keys, zones, permissions, quota.  What is wrong
is printed as a table.  Nothing is changed.

Without files, a provider is checked as it is in the running Zuul.  With
files, it is checked as it is there, before anyone merges it: all that it is
made of has to be among them.  All providers in the files are checked, unless
some are named.  zuul.conf has the connections.

    zuul-nodes check PROVIDER
    zuul-nodes check zuul.d/*.yaml
    zuul-nodes check --files . PROVIDER'''
EPILOG = '''\
exit status:
  0  nothing is wrong
  1  something is wrong, or the cloud did not answer
  2  nothing could be asked: wrong usage, no such provider, an error in the
     configuration of each provider, no ZooKeeper'''
WRONG, UNABLE = 1, 2
# Names that a cell of the table has at most.
MOST_NAMES = 3
# Seconds that clouds and libraries have to end.
ENDING = 5
COLUMNS = ('provider', 'object', 'what', 'name', 'problem')
WIDTHS = {'provider': 20, 'object': 30, 'name': 40, 'problem': 60}


def addArguments(parser):
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    zuulconf.addConfigArgument(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        '--files', action='append', metavar='PATH',
        help='a YAML file of Zuul, or the directory of a project that has '
             'some (zuul.yaml, zuul.d, .zuul.yaml or .zuul.d); may be '
             'repeated')
    source.add_argument(
        '--tenant', metavar='NAME',
        help='the tenant of a running Zuul; needed if several have a '
             'provider of that name')
    parser.add_argument(
        '--timeout', type=arguments.seconds, default=60, metavar='SECONDS',
        help='how long each question to the cloud may take '
             '(default: %(default)s)')
    parser.add_argument(
        '--full', action='store_true',
        help="show clouds' messages with the accounts, addresses and file "
             'names in them, which are not for all who read the logs of jobs')
    parser.add_argument('--all', action='store_true',
                        help='show what is right as well')
    output.addFormatArgument(parser)
    parser.add_argument(
        'provider', nargs='*', metavar='PROVIDER|FILE',
        help='the name of a provider; or a path as for --files, if it ends '
             'with .yaml or has a slash in it')


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
    """A question that has no answer yet is no reason to wait for long."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(ENDING)


def leave(status):
    """End the process, whatever its threads still wait for."""
    # Some libraries have keys in temporary files until then.
    _doInTime(atexit._run_exitfuncs)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def check(args, closing):
    """
    :param ExitStack closing: gets what is to be closed.
    :return: the exit status.
    """
    _sortArguments(args)
    config = zuulconf.read(args.config)
    if not args.files:
        zuulconf.requireZooKeeper(config)
    if not plugin.install():
        raise UserError('the plugin can not be used here; '
                        '"zuul-nodes doctor" tells why')
    # Libraries of clouds log what they ask, and some of it is secret.
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
    shown = results if args.all else wrong
    if args.format == 'json':
        print(output.formatJSON([each.toDict() for each in shown]))
        return WRONG if wrong else 0
    if shown:
        print(output.formatTable(
            COLUMNS, [[each.toDict(_shorten)[name] for name in COLUMNS]
                      for each in shown], WIDTHS))
    asked = count(len(results), 'question')
    print((f'Of {asked}, {len(wrong)} found something wrong.' if wrong
           else f'Nothing is wrong: {asked}.') + (
        f' Not asked, without access: {report.left_out}.'
        if report.left_out else ''))
    return WRONG if wrong else 0


def _sortArguments(args):
    """Have those arguments that are files be among ``args.files``.

    :raises UserError: it is not said what to check, or two ways.
    """
    # So that a shell may expand a pattern.
    paths = [each for each in args.provider
             if ('/' in each or each.endswith('.yaml'))
             and os.path.exists(each)]
    args.files = [*(args.files or ()), *paths]
    args.provider = [each for each in args.provider if each not in paths]
    if not args.files and not args.provider:
        raise UserError('name a provider of the running Zuul, or files')
    if args.files and args.tenant:
        raise UserError('--tenant is for providers of the running Zuul; '
                        'those in files have none')


def _shorten(names):
    """:return: some names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ', '.join(names[:MOST_NAMES]) + (
        f' and {more} more' if more > 0 else '')
