"""Passes the operator's settings to drivers."""


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
