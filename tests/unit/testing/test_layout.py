"""Connections, as the kit makes them."""

import configparser

from zuul.driver.azure import AzureDriver as ZuulsDriver
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.drivers.azure import AzureDriver
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions
from zuul_nodes.testing.layout import makeConnections


class OtherDriver(ZuulsDriver):
    """None of ours, with the name of one."""


def test_driver_is_the_given_one_where_the_plugin_is(monkeypatch):
    monkeypatch.setattr(
        ConnectionRegistry, 'configure', registry.wrapConfigure(
            ConnectionRegistry.configure,
            Extensions({'azure': AzureDriver}, {}, {})))
    config = configparser.ConfigParser()
    config.read_dict({'connection cloud': {'driver': 'azure'}})
    connections = makeConnections(config, OtherDriver)
    assert type(connections.connections['cloud'].driver) is OtherDriver
    connections.stop()
