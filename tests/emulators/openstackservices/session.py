"""One cloud for all tests of a session: it takes a while to start."""

import pytest

from tests.emulators.openstackservices import OpenStackServices

_SERVICES = pytest.StashKey()


def getServices(config, tmp_path_factory):
    """
    :param config: pytest's.
    :return: the only :class:`OpenStackServices` of the session, running.
    """
    if _SERVICES not in config.stash:
        services = OpenStackServices(tmp_path_factory.mktemp('openstack'))
        config.add_cleanup(services.end)
        config.stash[_SERVICES] = services
        services.start()
    return config.stash[_SERVICES]
