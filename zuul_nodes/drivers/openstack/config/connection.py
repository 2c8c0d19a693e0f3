"""The options of an OpenStack cloud in ``zuul.conf``."""

from zuul.driver.openstack import openstackconnection

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.openstack.config import options

# Seconds that a call to the cloud may take.
API_TIMEOUT = 60.0


class OpenstackConnection(openstackconnection.OpenstackConnection):
    """The connection of an OpenStack cloud.

    :ivar float api_timeout: seconds that a call to the cloud may take, or
        None to use the value in ``clouds.yaml``.
    :ivar frozenset image_visibilities: values of the tag ``visibility`` that
        tenants may give to images.
    :raises Exception: an option is invalid; Zuul does not start.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        if isinstance(self.config_files, str):
            # openstacksdk would treat each of its letters as a file name.
            self.config_files = [self.config_files]
        self.api_timeout = self._getTimeout()
        self.image_visibilities = bounds.getNames(
            self, options.VISIBILITIES,
            frozenset(options.DEFAULT_VISIBILITIES))

    def _getTimeout(self):
        text = self.connection_config.get('api_timeout')
        if text is None:
            return None
        try:
            timeout = float(text)
        except ValueError:
            timeout = 0
        if not timeout > 0:
            raise Exception(
                f'[connection {self.connection_name}]: "api_timeout" must be '
                f'a number of seconds greater than 0, not "{text}"')
        return timeout
