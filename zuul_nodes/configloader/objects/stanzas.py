"""Configuration objects as stanzas.

Parses files without a tenant: unmerged files, examples and tests.  Converts
configuration objects to plain data and back.
"""

import yaml
from zuul import model
import zuul.configloader

from zuul_nodes.configloader.errors import getKind
from zuul_nodes.configloader.flattening.vocabulary import STRUCTURE
from zuul_nodes.configloader.objects.flavor import FlavorParser
from zuul_nodes.configloader.objects.image import ImageParser
from zuul_nodes.configloader.objects.label import LabelParser
from zuul_nodes.configloader.objects.provider import ProviderParser
from zuul_nodes.configloader.objects.section import SectionParser
from zuul_nodes.configloader.plain import toData

PARSERS = {
    'image': ImageParser,
    'flavor': FlavorParser,
    'label': LabelParser,
    'section': SectionParser,
    'provider': ProviderParser,
}
# Zuul's parsers require a mark.
NOWHERE = model.ZuulMark(*2 * [yaml.Mark(None, 0, 0, 0, None, None)], '')


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


def write(config_object):
    """Convert an object to data that JSON can store.

    :param config_object: an image, flavor, label, section or provider.
    :return: a dict: ``kind``, ``branch``, ``path``, and ``stanza`` as it may
        be written in the file.
    """
    kind = getKind(config_object)
    if kind in STRUCTURE:
        stanza = {name: value for name in sorted(STRUCTURE[kind])
                  if (value := getattr(config_object, name)) is not None}
        stanza |= config_object.attributes
    else:
        stanza = config_object.config
    return {'kind': kind, 'branch': config_object.source_context.branch,
            'path': config_object.source_context.path,
            'stanza': toData(stanza)}


def read(written, context, pcontext):
    """
    :param dict written: as :func:`write` returns it.
    :param SourceContext context: any in the project of the object.
    :param ParseContext pcontext: for the parsers.
    :return: the object.  The number of its line is not known.
    """
    context = context.copy()
    context.branch, context.path = written['branch'], written['path']
    config_object = PARSERS[written['kind']](pcontext).fromYaml(
        written['stanza'] | {'_source_context': context,
                             '_start_mark': NOWHERE})
    config_object.start_mark = None
    return config_object
