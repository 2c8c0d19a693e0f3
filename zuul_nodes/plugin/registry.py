"""The seam at which drivers are added to a connection registry."""

import functools
import sys


def wrapConfigure(configure, extensions):
    @functools.wraps(configure)
    def wrapper(self, config, database=False, sources=False,
                triggers=False, reporters=False, providers=False):
        for name, driver_class in extensions.drivers.items():
            # Replaces Zuul's driver of the same name.  A registry may be
            # configured again, and then keeps our driver.
            if not isinstance(self.drivers.get(name), driver_class):
                self.drivers[name] = driver_class()
        configure(self, config, database=database, sources=sources,
                  triggers=triggers, reporters=reporters,
                  providers=providers)
        if providers:
            addDefaultConnections(self)
    return wrapper


def addDefaultConnections(registry):
    """Create the default connections of drivers.

    Zuul creates a connection with the driver's name for every driver without
    connection options.  A provider driver whose connections have options may
    list default connections in an attribute ``default_connections``.
    """
    from zuul.driver import ProviderInterface
    for driver in registry.drivers.values():
        if not isinstance(driver, ProviderInterface):
            continue
        for name in getattr(driver, 'default_connections', ()):
            connection = registry.connections.get(name)
            if connection is None:
                registry.connections[name] = driver.getConnection(name, {})
            elif connection.driver is not driver:
                # A service configures its connections when it starts.
                sys.exit(
                    f'zuul-nodes: zuul.conf: [connection {name}] has the '
                    f'driver {connection.driver.name}, but that name '
                    f'belongs to the driver {driver.name}; rename the '
                    f'connection')
