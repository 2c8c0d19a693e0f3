"""Driver for static nodes: existing machines."""

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
    """Zuul's driver for static nodes, extended as the specification requires.

    A section of static nodes has no cloud to connect to and sets
    ``connection: null`` (specification, "Configuration").  The section
    parser reads this as the connection of that name.  Labels of static nodes
    need no image and no flavor, because the nodes have these attributes.
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
        :raises BoundError: the operator does not allow the machine of a node.
        """
        labels = {label['name'] for label in config['labels']}
        for entry in config['nodes']:
            node = normalizeNode(entry, labels)
            if node and not connection.hosts.allowsName(node['name']):
                raise bounds.BoundError(
                    f'its node "{node["name"]}" {_explain(connection)}')

    def checkAddress(self, connection, host, address):
        """
        :raises BoundError: the operator does not allow the address to which
            the name of a node leads.
        """
        if not connection.hosts.allows(host, address):
            raise bounds.BoundError(
                f'the node "{host}", at the address {address}, '
                f'{_explain(connection)}')

    def getNodeLabels(self, config, aliases=True):
        """Find the labels of the nodes of a section.

        With ``include-all-node-labels: true``, a provider has all of
        them (specification, "Configuration").

        :param dict config: of a section, or a flat one; as configured, not
            validated.
        :param bool aliases: whether to include the names in ``aliases``, for
            which Zuul does not require a label.
        :return: a list of names, each once, in the order of the nodes.
        :raises vs.Invalid: an entry is invalid.
        """
        return getLabels(config, aliases)


def _explain(connection):
    """:return: why a node cannot be used, a predicate for its name."""
    option = bounds.describe(connection, HOSTS)
    if connection.hosts.is_open:
        return (f'is the launcher\'s own machine, or local to it, which '
                f'{option} must list to allow it')
    return f'is not a machine that {option} allows'
