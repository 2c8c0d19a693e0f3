"""What becomes of configuration: parsed by our parsers, in a layout."""

import inspect
import textwrap

from zuul import model
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.configloader.objects import stanzas
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

CONTEXT = ('example.com/nodes', 'nodes', 'example', 'main',
           'zuul.d/nodes.yaml')


def parse(text, parsers=stanzas.PARSERS):
    """:param str text: a file as a tenant writes it.
    :return: a list of the configuration objects of these kinds in it."""
    return stanzas.parse(
        textwrap.dedent(text), model.SourceContext(*CONTEXT), parsers)


def makeLayout(text, parsers=stanzas.PARSERS):
    """:return: a layout with what is in the text."""
    layout = model.Layout(model.Tenant('tenant'))
    stanzas.addTo(layout, parse(text, parsers))
    return layout


def makeConnections(config, *driver_classes):
    """
    :param ConfigParser config: zuul.conf
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


def makeProviders(connections, text, zk_client, system_id):
    """
    :param ConnectionRegistry connections:
    :param str text: images to providers, as a tenant writes them.
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
