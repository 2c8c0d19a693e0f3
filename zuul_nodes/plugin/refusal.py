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
from zuul_nodes.plugin import extensions

LOCATIONS = ('/etc/zuul/zuul.conf', '~/zuul.conf')


def refuseIfNeeded(reason):
    """:param str reason: why the plugin can't be used.

    :raises UserError: ``zuul.conf`` uses what only the plugin provides.
    """
    config = readConfig(getConfigPath(sys.argv))
    uses = list(findUses(config, os.path.basename(sys.argv[0])))
    if uses:
        raise UserError(
            f'{reason}; but zuul.conf relies on it: {", ".join(uses)}. '
            f'Install versions of zuul and zuul-nodes that fit together, '
            f'or take this out of zuul.conf')


def getConfigPath(argv):
    """:return: what the command line ``argv`` gives with -c, or None."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('-c', dest='config')
    return parser.parse_known_args(argv[1:])[0].config


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
    """Yield, in words, what of this configuration needs the plugin.

    :param ConfigParser config: zuul.conf
    :param str command: the command that starts, as ``zuul-web``.
    """
    ours = (set(extensions.find(extensions.DRIVERS))
            - set(extensions.getZuulDrivers()))
    for section in config.sections():
        if re.match(r'connection\s', section, re.IGNORECASE):
            driver = config.get(section, 'driver', fallback=None)
            if driver in ours:
                yield f'[{section}] driver = {driver}'
    if command == 'zuul-scheduler':
        for name in extensions.find(extensions.COMPONENTS):
            value = config.get(name, 'embedded', fallback='')
            if value.lower() in ('1', 'on', 'yes', 'true'):
                yield f'[{name}] embedded = {value}'
