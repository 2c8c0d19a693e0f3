"""Connections of a command are those that Zuul makes, with fewer drivers."""

import configparser

import pytest
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.cmd.common.connections import Connections
from zuul_nodes.exceptions import UserError
from zuul_nodes.plugin import extensions, registry

ZUUL_CONF = '''\
[gerrit]
server=127.0.0.1
user=zuul

[connection hub]
driver=github

[connection "quoted"]
driver=git
baseurl=file:///git

[connection cloud]
driver=aws

[connection rack]
driver=static

[connection mail]
driver=smtp
'''


def readConf(text):
    config = configparser.ConfigParser()
    config.read_string(text)
    return config


def makeZuuls(config):
    """:return: Zuul's registry, as with the plugin installed."""
    connections = ConnectionRegistry()
    registry.wrapConfigure(ConnectionRegistry.configure, extensions.load(
        [extensions.DRIVERS]))(connections, config, sources=True,
                               triggers=True, reporters=True, providers=True)
    return connections


def describe(connections):
    return {name: (type(each.driver), each.connection_name,
                   dict(each.connection_config))
            for name, each in connections.connections.items()}


def test_connections_are_those_of_zuul():
    config = readConf(ZUUL_CONF)
    ours, zuuls = Connections(config), makeZuuls(config)
    assert describe(ours) == describe(zuuls)
    for name in ('gerrit', 'hub', 'quoted'):
        assert type(ours.getSource(name)) is type(zuuls.getSource(name))


def test_only_named_drivers_and_those_of_other_packages_are_loaded():
    drivers = Connections(readConf(ZUUL_CONF)).drivers
    assert sorted(drivers) == [
        'aws', 'fake', 'gce', 'gerrit', 'git', 'github', 'local', 'smtp',
        'static', 'timer', 'zuul']


@pytest.mark.parametrize('options', [
    '', 'driver=clod', 'driver=sql', 'driver=auth'])
def test_drivers_that_zuul_does_not_know(options):
    config = readConf(f'[connection cloud]\n{options}\n')
    with pytest.raises(Exception, match='cloud') as zuuls:
        makeZuuls(config)
    with pytest.raises(UserError) as ours:
        Connections(config)
    assert str(ours.value) == f'zuul.conf: {zuuls.value}'


def test_zuuls_drivers_are_found_one_by_one():
    assert extensions.getZuulDrivers() == {
        name: type(driver)
        for name, driver in ConnectionRegistry().drivers.items()}
