"""Drivers of other packages, and connections nobody configured."""

import configparser

import pytest
from zuul.driver import Driver
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.drivers.static.connection import StaticConnection
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions


class ShelfDriver(Driver):
    name = 'shelf'


@pytest.fixture
def configure():
    """:return: a function that gives a registry made with the plugin."""
    wrapped = registry.wrapConfigure(
        ConnectionRegistry.configure,
        Extensions({'shelf': ShelfDriver, 'static': StaticDriver}, {}, {}))

    def configureRegistry(conf='', connections=None, **kwargs):
        connections = connections or ConnectionRegistry()
        config = configparser.ConfigParser()
        config.read_string(conf)
        wrapped(connections, config, **kwargs)
        return connections
    return configureRegistry


def test_drivers(configure):
    connections = configure()
    assert type(connections.drivers['shelf']) is ShelfDriver
    assert type(connections.drivers['static']) is StaticDriver
    # Zuul finds the zuul driver by this name.
    assert connections.drivers['zuul'].name == 'zuul'


def test_configured_again_keeps_the_drivers(configure):
    connections = configure()
    drivers = dict(connections.drivers)
    configure(connections=connections)
    assert connections.drivers == drivers


def test_null_connection(configure):
    connections = configure(providers=True).connections
    assert type(connections['null']) is StaticConnection
    assert connections['null'].connection_name == 'null'


def test_null_connection_is_for_those_who_ask_for_providers(configure):
    assert 'null' not in configure(sources=True).connections


def test_null_connection_from_zuul_conf(configure):
    connections = configure('[connection null]\ndriver=static\nx=1\n',
                            providers=True).connections
    assert connections['null'].connection_config['x'] == '1'


def test_null_connection_of_another_driver(configure):
    with pytest.raises(SystemExit, match=(
            r'\[connection null\] has the driver kubernetes, but that name '
            'belongs to the driver static; rename the connection')):
        configure('[connection null]\ndriver=kubernetes\n', providers=True)
