"""What becomes of configuration: parsed by our parsers, in a layout."""

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

# Kind of objects -> the class that parses them, as :data:`stanzas.PARSERS`.
Parsers: TypeAlias = Mapping[str, type]


def parse(text: str, parsers: Parsers = stanzas.PARSERS) -> list[Any]:
    """:param text: a file as a tenant writes it.
    :return: a list of the configuration objects of these kinds in it."""
    return stanzas.parse(
        textwrap.dedent(text), model.SourceContext(*CONTEXT), parsers)


def makeLayout(text: str, parsers: Parsers = stanzas.PARSERS) -> model.Layout:
    """:return: a layout with what is in the text."""
    layout = model.Layout(model.Tenant('tenant'))
    stanzas.addTo(layout, parse(text, parsers))
    return layout


def makeConnections(config: configparser.ConfigParser,
                    *driver_classes: type[ZuulDriver]) -> ConnectionRegistry:
    """
    :param config: zuul.conf
    :param driver_classes: beside Zuul's own, or in place of them.
    :return: a ConnectionRegistry, with what the plugin adds.
    """
    connections = ConnectionRegistry()
    registry.wrapConfigure(
        # In a process that has the plugin, the plugin's drivers would take
        # the place of these.
        inspect.unwrap(ConnectionRegistry.configure),
        Extensions({cls.name: cls for cls in driver_classes}, {}, {}))(
            connections, config, providers=True)
    return connections


def makeProviders(connections: ConnectionRegistry, text: str,
                  zk_client: ZooKeeperClient,
                  system_id: str) -> list[BaseProvider]:
    """
    :param connections:
    :param text: images to providers, as a tenant writes them.
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
