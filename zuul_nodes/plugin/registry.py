"""The seam at which drivers enter a connection registry."""

import functools
import sys


def wrapConfigure(configure, extensions):
    @functools.wraps(configure)
    def wrapper(self, config, database=False, sources=False,
                triggers=False, reporters=False, providers=False):
        for name, driver_class in extensions.drivers.items():
            # Zuul makes its own drivers first; ours take their place.
            # A registry may be configured again: then ours is there.
            if not isinstance(self.drivers.get(name), driver_class):
                self.drivers[name] = driver_class()
        configure(self, config, database=database, sources=sources,
                  triggers=triggers, reporters=reporters,
                  providers=providers)
        if providers:
            _addDefaultConnections(self)
    return wrapper


def _addDefaultConnections(registry):
    """Make the connections that a driver has without being asked.

    Zuul gives every driver that takes no configuration a connection of
    the driver's name.  A provider driver whose connections do take some
    may name connections that exist all the same, in an attribute
    ``default_connections``.
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
                # A service configures its connections as it starts.
                sys.exit(
                    f'zuul-nodes: zuul.conf: [connection {name}] has the '
                    f'driver {connection.driver.name}, but that name '
                    f'belongs to the driver {driver.name}; rename the '
                    f'connection')
