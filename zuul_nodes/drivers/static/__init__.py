"""Static nodes: machines that are there already."""

import zuul.driver.static

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.static.node import getLabels
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
    provider_class = StaticProvider
    schema_class = StaticProviderSchema

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
