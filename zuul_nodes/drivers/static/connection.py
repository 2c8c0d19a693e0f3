"""The options of static nodes in ``zuul.conf``."""

import voluptuous as vs
from zuul.driver.static import staticconnection
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import addresses, bounds

HOSTS = 'hosts'
SCHEMA = vs.Schema({
    Optional(
        HOSTS,
        doc="""The machines that nodes may be, separated by commas: host
        names, addresses and networks.  By default, all machines except the
        launcher's own and those that are local to it: loopback and link-local
        addresses, multicast, and the metadata addresses of clouds.  If
        networks are listed, names are allowed, and the launcher checks their
        address before each connection.  ``0.0.0.0/0, ::/0`` is every
        machine.""",
    ): Nullable(str),
    **bounds.SCHEMA,
}, extra=vs.ALLOW_EXTRA)


class StaticConnection(staticconnection.StaticConnection):
    """The connection of static nodes.

    :ivar Hosts hosts: the machines that nodes may be.
    """

    def __init__(self, driver, name, config):
        super().__init__(driver, name, config)
        self.hosts = addresses.Hosts(
            config.get(HOSTS), bounds.describe(self, HOSTS))
