"""Passes the operator's settings to drivers."""

import collections

from zuul_nodes.drivers import rates


def prepareDrivers(connections, settings, statsd):
    """Pass the operator's settings to the drivers; see the driver API.

    :param ConnectionRegistry connections: has the drivers; Zuul's own drivers
        do not use the settings.
    :param statsd: a client, or None.
    """
    for driver in connections.drivers.values():
        driver.steps_have_threads = True
        driver.statsd = statsd
        for name in ('image_sources', 'image_size_limit',
                     'require_image_checksums'):
            setattr(driver, name, getattr(settings, name))


def shareRates(connections, ownership, endpoints):
    """Set how many launchers share the rate of each connection.

    :param ConnectionRegistry connections: of this launcher.
    :param Ownership ownership: knows the running launchers.
    :param endpoints: those that this launcher handles.
    """
    names = collections.defaultdict(set)
    for endpoint in endpoints:
        names[endpoint.connection.connection_name].add(endpoint.canonical_name)
    for name, connection in connections.connections.items():
        setattr(connection, rates.LAUNCHERS, max(
            1, ownership.countSharing(name, names[name])))
