"""Half a plugin is worse than none.

Where Zuul is not as the plugin knows it, it runs without the plugin.
That is right for a site that only has the package installed.  A site
that relies on it would lose its nodes in silence, so there the process
does not start.
"""

import argparse
import configparser
import os
import re
import sys

from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, records
from zuul_nodes.plugin.components import isEmbedded

LOCATIONS = ('/etc/zuul/zuul.conf', '~/zuul.conf')
# The commands that deal with the providers of all tenants.
PROVIDER_COMMANDS = ('zuul-scheduler', 'zuul-web', 'zuul-launcher')


def refuseIfNeeded(reason):
    """
    :param str reason: why the plugin can't be used.
    :raises UserError: this process is about to serve a site that uses
        what only the plugin provides.
    """
    path, is_service = parseArguments(sys.argv)
    if not is_service:
        return
    try:
        config = readConfig(path)
    except configparser.Error:
        # Zuul is about to say so itself.
        return
    uses = list(findUses(config, os.path.basename(sys.argv[0])))
    if uses:
        raise UserError(
            f'{reason}; but this site relies on the plugin: '
            f'{", ".join(uses)}. Install versions of zuul and zuul-nodes '
            f'that fit together, or take this out of the configuration')


def parseArguments(argv):
    """
    :param list argv: the command line of one of Zuul's commands.
    :return: the file given with -c, or None; and whether the command
        runs a service, rather than tell a running one something or print
        its help.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('-c', dest='config')
    # They may be written together, as in "-fdc zuul.conf".
    for flag in ('-f', '-d'):
        parser.add_argument(flag, action='store_true')
    args, others = parser.parse_known_args(argv[1:])
    is_service = not any(
        other in ('-h', '--help', '--version') or other[:1] != '-'
        for other in others)
    return args.config, is_service


def readConfig(path=None):
    """Read zuul.conf from where Zuul would.

    :return: a ConfigParser; an empty one if there is no such file.
    """
    config = configparser.ConfigParser(
        {k: v for k, v in os.environ.items() if k.startswith('ZUUL_')})
    for location in [path] if path else LOCATIONS:
        # The first that is there, as Zuul does.
        if config.read(os.path.expanduser(location)):
            break
    return config


def findUses(config, command):
    """Yield, in words, what of this site needs the plugin.

    :param ConfigParser config: zuul.conf
    :param str command: the command that starts, as ``zuul-web``.
    """
    ours = (set(extensions.find(extensions.DRIVERS))
            - set(extensions.getZuulDrivers()))
    connections = {}
    for section in config.sections():
        match = re.fullmatch(r'connection\s+[\'"]?(.*?)[\'"]?', section,
                             re.IGNORECASE)
        if match:
            connections[match[1]] = config.get(section, 'driver',
                                               fallback=None)
    for name, driver in connections.items():
        if driver in ours:
            yield f'[connection {name}] driver = {driver} in zuul.conf'
    if command == 'zuul-scheduler':
        for name in extensions.find(extensions.COMPONENTS):
            if isEmbedded(config, name, default=False):
                yield f'[{name}] embedded = true in zuul.conf'
    if command in PROVIDER_COMMANDS:
        for tenant, provider, name in records.findProviders(config):
            if name not in connections:
                yield (f'provider {provider} of tenant {tenant} has the '
                       f'connection {name}, which zuul.conf has not')
