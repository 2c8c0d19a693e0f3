"""What operators have set, told to drivers."""


def prepareDrivers(connections, settings, statsd):
    """Tell drivers what the operator has set; see the driver API.

    :param ConnectionRegistry connections: has the drivers; those of Zuul do
        not ask for it.
    :param statsd: a client, or None.
    """
    for driver in connections.drivers.values():
        driver.steps_have_threads = True
        driver.statsd = statsd
        for name in ('image_sources', 'image_size_limit',
                     'require_image_checksums'):
            setattr(driver, name, getattr(settings, name))
