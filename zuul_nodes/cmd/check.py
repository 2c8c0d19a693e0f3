"""``zuul-nodes check``: has the cloud what the configuration names?"""

import argparse
import atexit
import contextlib
import logging
import os
import sys
import threading

from zuul_nodes import messages, plugin, zuulconf
from zuul_nodes.cmd import arguments, output
from zuul_nodes.cmd.asking import ask, count
from zuul_nodes.exceptions import UserError

DESCRIPTION = '''\
Ask the cloud whether what the configuration of a provider names is there:
images, flavors, networks, keys, zones, permissions, quota.  What is wrong
is printed as a table.  Nothing is changed.

Without --files, a provider is checked as it is in the running Zuul.  With
--files, it is checked as it is in files, before anyone merges it: all that
it is made of has to be among them.  zuul.conf has the connections.'''
EPILOG = '''\
exit status:
  0  nothing is wrong
  1  something is wrong, or the cloud did not answer
  2  nothing could be asked: wrong usage, no such provider, an error in the
     configuration, no ZooKeeper'''
WRONG, UNABLE = 1, 2
# Seconds that clouds and libraries have to end.
ENDING = 5
COLUMNS = ('object', 'what', 'name', 'problem')
WIDTHS = {'object': 30, 'name': 40, 'problem': 60}


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
    parser.add_argument('provider', nargs='+', metavar='PROVIDER',
                        help='the name of a provider')


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
    config = zuulconf.read(args.config)
    if not args.files:
        zuulconf.requireZooKeeper(config)
    if not plugin.install():
        raise UserError('the plugin can not be used here; '
                        '"zuul-nodes doctor" tells why')
    # Libraries of clouds log what they ask, and some of it is secret.
    logging.basicConfig(handlers=[logging.NullHandler()])
    from zuul_nodes.cmd import providers
    find = (providers.findInFiles if args.files else providers.findInZuul)
    results = []
    for provider in find(config, args):
        closing.callback(provider.driver.stop)
        results += ask(provider, args.timeout, sys.stderr, args.full)
    wrong = [result for result in results if result['problem']]
    shown = results if args.all else wrong
    if args.format == 'json':
        print(output.formatJSON(shown))
        return WRONG if wrong else 0
    if shown:
        print(output.formatTable(
            COLUMNS, [[each[name] for name in COLUMNS] for each in shown],
            WIDTHS))
    asked = count(len(results), 'question')
    print(f'Of {asked}, {len(wrong)} found something wrong.' if wrong
          else f'Nothing is wrong: {asked}.')
    return WRONG if wrong else 0
