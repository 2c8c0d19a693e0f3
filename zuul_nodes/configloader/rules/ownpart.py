"""The own part of a provider: what its own project says of it.

This is the provider's stanza, and the stanzas of images, flavors, labels and
sections of the same project that it uses.  Other projects have the rest: the
sections of the operator, above all.  The record of a provider contains its
own part as data, which can be combined with other sections later.
"""

import dataclasses
import types
import typing

from zuul_nodes.configloader.errors import getKind
from zuul_nodes.configloader.flattening.parts import KINDS
from zuul_nodes.configloader.objects import stanzas
from zuul_nodes.drivers import OWN
from zuul_nodes.providerrecords import OWN_PART


@dataclasses.dataclass(frozen=True)
class OwnPart:
    """What the record of a provider contains.

    ``stanzas``
        a list of dictionaries: ``kind``, ``branch``, ``path``, and ``stanza``
        as :func:`.stanzas.write` returns it.  The provider's is the first.
    ``sections``
        the canonical names of the provider's sections of other projects.
    """
    stanzas: list[dict[str, typing.Any]]
    sections: list[str]


def save(flattening, config):
    """Add the own part to the configuration that was made from it.

    :param Flattening flattening: of the provider.
    :param dict config: its flat configuration; changed.
    """
    provider_config, sections = flattening.provider_config, flattening.sections
    objects = (provider_config, *sections, *(
        part.stanza for kind in KINDS
        for part in getattr(flattening.parts, kind).values()))
    attach(config, OwnPart(
        [stanzas.write(each) for each in objects
         if _isSameProject(each, provider_config)],
        [section.canonical_name for section in sections
         if not _isSameProject(section, provider_config)]))


def attach(config, part):
    """Add an own part to a flat configuration, which is changed."""
    # It is about the whole provider, so one label is enough.  No driver's
    # schema of providers would accept it.
    for label in config['labels'][:1]:
        label.setdefault(OWN, {})[OWN_PART] = dict(vars(part))


def find(config):
    """
    :param dict config: the flat configuration in a record.
    :return: the :class:`OwnPart` of the provider.
    :raises LookupError: the record has none.  Providers without labels, and
        providers that older releases have written, have none.
    """
    for label in config['labels']:
        if part := label.get(OWN, {}).get(OWN_PART):
            return OwnPart(**part)
    raise LookupError('its record has no own part')


def restore(part, context, layout, parse_context):
    """Put an own part in the place of the present one.

    :param OwnPart part: of a provider.
    :param SourceContext context: any in the project of the provider.
    :param Layout layout: the present objects of the tenant.
    :param ParseContext parse_context:
    :return: the :class:`ProviderConfig`, and what it needs of a layout.
        Objects of other projects are the present ones.
    :raises: what the parsers raise, if their rules have changed.
    """
    provider_config, *others = (
        stanzas.read(written, context, parse_context)
        for written in part.stanzas)
    found = types.SimpleNamespace(
        tenant=layout.tenant, provider_configs=layout.provider_configs,
        **{f'{kind}s': dict(getattr(layout, f'{kind}s'))
           for kind in (*KINDS, 'section')})
    for config_object in others:
        objects = getattr(found, f'{getKind(config_object)}s')
        present = objects.get(config_object.name)
        if present is None or _isSameProject(present, config_object):
            objects[config_object.name] = config_object
    return provider_config, found


def _isSameProject(one, other):
    return one.source_context.isSameProject(other.source_context)
