"""How the driver API does what it does; authors of drivers import from
:mod:`zuul_nodes.drivers` alone."""
