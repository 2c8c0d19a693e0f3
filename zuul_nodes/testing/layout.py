"""Parse the configuration into a layout with the plugin's parsers."""

from collections.abc import Mapping
import configparser
import inspect
import textwrap
from typing import Any, TypeAlias

from zuul import model
from zuul.driver import Driver as ZuulDriver
from zuul.lib.connections import ConnectionRegistry
from zuul.provider import BaseProvider
from zuul.zk import ZooKeeperClient

from zuul_nodes.configloader.objects import stanzas
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

CONTEXT = ('example.com/nodes', 'nodes', 'example', 'main',
           'zuul.d/nodes.yaml')

# Kind of object -> the class that parses it, as :data:`stanzas.PARSERS`.
Parsers: TypeAlias = Mapping[str, type]


def parse(text: str, parsers: Parsers = stanzas.PARSERS) -> list[Any]:
    """:param text: a file of a tenant.
    :return: a list of the configuration objects of these kinds in it."""
    return stanzas.parse(
        textwrap.dedent(text), model.SourceContext(*CONTEXT), parsers)


def makeLayout(text: str, parsers: Parsers = stanzas.PARSERS) -> model.Layout:
    """:return: a layout with the objects of a text."""
    layout = model.Layout(model.Tenant('tenant'))
    stanzas.addTo(layout, parse(text, parsers))
    return layout


def makeConnections(config: configparser.ConfigParser,
                    *driver_classes: type[ZuulDriver]) -> ConnectionRegistry:
    """
    :param config: zuul.conf
    :param driver_classes: in addition to Zuul's own, which they may replace.
    :return: a ConnectionRegistry, with the additions of the plugin.
    """
    connections = ConnectionRegistry()
    registry.wrapConfigure(
        # If the plugin is installed in this process, its own drivers would
        # replace these.
        inspect.unwrap(ConnectionRegistry.configure),
        Extensions({cls.name: cls for cls in driver_classes}, {}, {}))(
            connections, config, providers=True)
    return connections


def makeProviders(connections: ConnectionRegistry, text: str,
                  zk_client: ZooKeeperClient,
                  system_id: str) -> list[BaseProvider]:
    """
    :param connections:
    :param text: configuration from images to providers.
    :return: a list of the providers.
    """
    layout = makeLayout(text)
    providers = []
    for provider_config in layout.provider_configs.values():
        config = provider_config.flattenConfig(
            layout, connections.connections)
        connection = connections.connections[config['connection']]
        providers.append(connection.driver.getProvider(
            zk_client, connection, layout.tenant.name,
            provider_config.canonical_name, config, system_id))
    return providers
