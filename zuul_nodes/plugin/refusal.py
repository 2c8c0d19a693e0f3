"""Refuse to start a service that relies on the plugin but cannot use it.

If the plugin does not support the installed Zuul, Zuul runs without the
plugin.  That is right for a site where the package is installed but not used.
A site that relies on it would silently lose its nodes, so there the service
does not start.
"""

import configparser
import os
import sys

from zuul_nodes import zuulconf
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, records
from zuul_nodes.plugin.components import isEmbedded

# The commands that use the providers of all tenants.
PROVIDER_COMMANDS = ('zuul-scheduler', 'zuul-web', 'zuul-launcher')


def refuseIfNeeded(reason):
    """
    :param str reason: why the plugin cannot be used.
    :raises UserError: this process is a service of a site that relies on the
        plugin.
    """
    path, is_service = zuulconf.parseArguments(sys.argv[1:])
    if not is_service:
        return
    try:
        config = zuulconf.load(path)
    except configparser.Error:
        # Zuul reports this error itself.
        return
    uses = list(findUses(config, os.path.basename(sys.argv[0])))
    if uses:
        raise UserError(
            f'{reason}; but this site relies on the plugin: '
            f'{", ".join(uses)}. Install versions of zuul and zuul-nodes '
            f'that fit together, or remove this from the configuration')


def findUses(config, command):
    """Yield descriptions of the site's uses of the plugin.

    :param ConfigParser config: zuul.conf
    :param str command: the command that starts, for example ``zuul-web``.
    """
    found = extensions.find()
    ours = set(found[extensions.DRIVERS]) - set(extensions.getZuulDrivers())
    connections = zuulconf.getConnections(config)
    for name, options in connections.items():
        if options.get('driver') in ours:
            yield (f'[connection {name}] driver = {options["driver"]} in '
                   f'zuul.conf')
    if command == 'zuul-scheduler':
        for name in found[extensions.COMPONENTS]:
            if isEmbedded(config, name, default=False):
                yield f'[{name}] embedded = true in zuul.conf'
    if command in PROVIDER_COMMANDS:
        for tenant, provider, name in records.findProviders(config):
            if name not in connections:
                yield (f'provider {provider} of tenant {tenant} has the '
                       f'connection {name}, which zuul.conf does not have')
