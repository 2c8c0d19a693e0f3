"""What ``zuul.conf`` says of an OpenStack cloud."""

from zuul.driver.openstack import openstackconnection

from zuul_nodes.drivers import bounds

# Seconds that a call to the cloud may take.
API_TIMEOUT = 60.0
# Who sees images: those who are told of them.
VISIBILITIES = frozenset(('private', 'shared'))


class OpenstackConnection(openstackconnection.OpenstackConnection):
    """
    :ivar float api_timeout: seconds that a call to the cloud may take, or
        None if ``clouds.yaml`` may say so.
    :ivar frozenset image_visibilities: which tag ``visibility`` the images
        may have that tenants configure.
    :raises Exception: an option is wrong; Zuul does not start.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        if isinstance(self.config_files, str):
            # openstacksdk takes each of its letters for a file.
            self.config_files = [self.config_files]
        self.api_timeout = self._getTimeout()
        self.image_visibilities = bounds.getNames(
            self, 'image_visibilities', VISIBILITIES)

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
                f'[connection {self.connection_name}]: "api_timeout": it is '
                f'"{text}"; write a number of seconds, more than 0')
        return timeout
