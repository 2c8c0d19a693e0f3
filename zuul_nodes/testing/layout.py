"""What becomes of configuration: parsed by our parsers, in a layout."""

import textwrap

from zuul import model
import zuul.configloader
from zuul.lib.connections import ConnectionRegistry

from zuul_nodes.configloader.flavor import FlavorParser
from zuul_nodes.configloader.image import ImageParser
from zuul_nodes.configloader.label import LabelParser
from zuul_nodes.configloader.provider import ProviderParser
from zuul_nodes.configloader.section import SectionParser
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

PARSERS = {
    'image': ImageParser,
    'flavor': FlavorParser,
    'label': LabelParser,
    'section': SectionParser,
    'provider': ProviderParser,
}


def parse(text, parsers=PARSERS):
    """:param str text: a file as a tenant writes it.
    :return: a list of the configuration objects of these kinds in it."""
    context = model.SourceContext(
        'example.com/nodes', 'nodes', 'example', 'main', 'zuul.d/nodes.yaml')
    # With Zuul's own YAML loader, which adds source context and mark.
    stanzas = zuul.configloader.safe_load_yaml(textwrap.dedent(text), context)
    return [parsers[kind](None).fromYaml(conf)
            for stanza in stanzas for kind, conf in stanza.items()
            if kind in parsers]


def makeLayout(text, parsers=PARSERS):
    """:return: a layout with what is in the text."""
    layout = model.Layout(model.Tenant('tenant'))
    add = {model.Image: layout.addImage, model.Flavor: layout.addFlavor,
           model.Label: layout.addLabel, model.Section: layout.addSection,
           model.ProviderConfig: layout.addProviderConfig}
    for parsed in parse(text, parsers):
        next(function for cls, function in add.items()
             if isinstance(parsed, cls))(parsed)
    return layout


def makeConnections(config, *driver_classes):
    """
    :param ConfigParser config: zuul.conf
    :param driver_classes: beside Zuul's own, or in place of them.
    :return: a ConnectionRegistry, with what the plugin adds.
    """
    connections = ConnectionRegistry()
    registry.wrapConfigure(
        ConnectionRegistry.configure,
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
