"""Configuration of nodes and images read without a tenant around it: of
files that are not merged yet, of examples, and of tests."""

from zuul import model
import zuul.configloader

from zuul_nodes.configloader.objects.flavor import FlavorParser
from zuul_nodes.configloader.objects.image import ImageParser
from zuul_nodes.configloader.objects.label import LabelParser
from zuul_nodes.configloader.objects.provider import ProviderParser
from zuul_nodes.configloader.objects.section import SectionParser

PARSERS = {
    'image': ImageParser,
    'flavor': FlavorParser,
    'label': LabelParser,
    'section': SectionParser,
    'provider': ProviderParser,
}


def parse(text, context, parsers=PARSERS):
    """
    :param str text: of a file, as a tenant writes it.
    :param SourceContext context: where it is from.
    :return: a list of the configuration objects of these kinds in it.
    """
    # With Zuul's own YAML loader, which adds source context and mark.
    stanzas = zuul.configloader.safe_load_yaml(text, context)
    return [parsers[kind](None).fromYaml(conf)
            for stanza in stanzas or () for kind, conf in stanza.items()
            if kind in parsers]


def addTo(layout, parsed):
    """
    :param Layout layout: that is to have the objects.
    :param parsed: as :func:`parse` returns them.
    """
    add = {model.Image: layout.addImage, model.Flavor: layout.addFlavor,
           model.Label: layout.addLabel, model.Section: layout.addSection,
           model.ProviderConfig: layout.addProviderConfig}
    for each in parsed:
        next(function for cls, function in add.items()
             if isinstance(each, cls))(each)
