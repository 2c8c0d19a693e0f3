"""Parse configuration without a tenant: unmerged files, examples and tests."""

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
    """Parse the text of one file.

    :param str text: the YAML that a tenant writes.
    :param SourceContext context: the project, branch and path of the file.
    :return: a list of the image, flavor, label, section and provider objects
        in the file.
    """
    # With Zuul's own YAML loader, which adds source context and mark.
    stanzas = zuul.configloader.safe_load_yaml(text, context)
    return [parsers[kind](None).fromYaml(conf)
            for stanza in stanzas or () for kind, conf in stanza.items()
            if kind in parsers]


def addTo(layout, parsed):
    """Add objects to a layout.

    :param Layout layout: receives the objects.
    :param parsed: objects that :func:`parse` returned.
    """
    add = {model.Image: layout.addImage, model.Flavor: layout.addFlavor,
           model.Label: layout.addLabel, model.Section: layout.addSection,
           model.ProviderConfig: layout.addProviderConfig}
    for each in parsed:
        next(function for cls, function in add.items()
             if isinstance(each, cls))(each)
