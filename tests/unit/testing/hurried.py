"""Zuul's own driver for OpenStack, as the kit's launchers have it."""

import multiprocessing

from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers.openstack import OpenstackDriver


class HurriedDriver(OpenstackDriver):
    """It keeps its lists of servers for a moment only."""

    def __init__(self):
        super().__init__()
        if multiprocessing.parent_process():
            openstackendpoint.CACHE_TTL = 0.05

    def getConnection(self, name, config):
        connection = super().getConnection(name, config)
        # Zuul gives a string where openstacksdk wants a list.
        connection.config_files = [config['client_config_file']]
        return connection
