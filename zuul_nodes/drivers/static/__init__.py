"""Static nodes: machines that are there already."""

import zuul.driver.static

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.static.connection import (
    HOSTS,
    SCHEMA,
    StaticConnection,
)
from zuul_nodes.drivers.static.node import getLabels, normalizeNode
from zuul_nodes.drivers.static.provider import (
    StaticProvider,
    StaticProviderSchema,
)


class StaticDriver(extension.ExtendedDriver, zuul.driver.static.StaticDriver):
    """Zuul's driver for static nodes, as the specification has it.

    A section of static nodes has no cloud to connect to and says
    ``connection: null`` (specification, "Configuration").  The section
    parser reads this as the connection of that name.  What labels such
    nodes have is a matter of the nodes: no image, no flavor.
    """

    default_connections = ('null',)
    labels_need_image = False
    nodes_are_given = True
    connection_schema = SCHEMA
    provider_class = StaticProvider
    schema_class = StaticProviderSchema

    def getConnection(self, name, config):
        return StaticConnection(self, name, config)

    def checkBounds(self, connection, config):
        """
        :raises BoundError: a node is another machine than the operator
            allows.
        """
        labels = {label['name'] for label in config['labels']}
        for entry in config['nodes']:
            node = normalizeNode(entry, labels)
            if node and not connection.hosts.allowsName(node['name']):
                raise bounds.BoundError(
                    f'its node "{node["name"]}" {_explain(connection)}')

    def checkAddress(self, connection, host, address):
        """
        :raises BoundError: a node's name leads to another machine than the
            operator allows.
        """
        if not connection.hosts.allows(host, address):
            raise bounds.BoundError(
                f'the node "{host}", at the address {address}, '
                f'{_explain(connection)}')

    def getNodeLabels(self, config, aliases=True):
        """What labels the nodes of a section have.

        With ``include-all-node-labels: true``, a provider has all of
        them (specification, "Configuration").

        :param dict config: of a section, or a flat one; as it was
            written, not validated.
        :param bool aliases: also those of ``aliases``, for which Zuul
            does not ask the tenant to have a label.
        :return: a list of names, each once, in the order of the nodes.
        :raises vs.Invalid: that can't be said.
        """
        return getLabels(config, aliases)


def _explain(connection):
    """:return: why a node can't be used, after its name."""
    option = bounds.describe(connection, HOSTS)
    if connection.hosts.is_open:
        return (f'is the launcher\'s own machine, or local to it, which '
                f'{option} has to allow')
    return f'is no machine that {option} allows'
