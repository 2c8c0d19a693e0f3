"""Static nodes: machines that are there already."""

import zuul.driver.static


class StaticDriver(zuul.driver.static.StaticDriver):
    """Zuul's driver for static nodes, with a connection that is there.

    A section of static nodes has no cloud to connect to and says
    ``connection: null`` (specification, "Configuration").  The section
    parser reads this as the connection of that name.
    """

    default_connections = ('null',)
