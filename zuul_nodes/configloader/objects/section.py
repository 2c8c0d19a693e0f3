"""The section: a part of a cloud, or a list of static nodes."""

import voluptuous as vs
import zuul.configloader

from zuul_nodes.configloader.errors import (
    SectionError,
    SectionGoneError,
    describe,
    explainUnknown,
)
from zuul_nodes.configloader.objects.known import keepFaultsOfSection
from zuul_nodes.configloader.plain import copyStanza, keepReplacing

# Replaces "connection: null".  The static driver registers a connection of
# this name in every process that loads providers, independent of zuul.conf.
NULL_CONNECTION = 'null'


class SectionParser(zuul.configloader.SectionParser):
    """Parses a section, with or without a connection.

    Static nodes "are configured on a section with a null connection"
    (specification, "Configuration").
    """

    schema = zuul.configloader.SectionParser.schema.extend(
        {'connection': vs.Any(str, None)})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza.  Values that Zuul cannot show in an
            error are removed from it.
        :return: a :class:`zuul.model.Section`.
        """
        conf = copyStanza(conf)
        if conf.get('connection', ...) is None:
            conf['connection'] = NULL_CONNECTION
        section = keepReplacing(conf, super().fromYaml)
        # No driver's schema has a description.
        section.config.pop('description', None)
        keepFaultsOfSection(self.pcontext, section)
        return section


def getLineage(layout, section):
    """
    :param Layout layout: the tenant's objects.
    :param Section section: one of them.
    :return: a list of the section and the sections it inherits from.
    :raises SectionError: one of these is missing, or inherits from itself.
    """
    seen = [section]
    while section.parent:
        section = getSection(layout, section.parent,
                             f'The {describe(section)}')
        if section in seen:
            path = ' -> '.join(
                f'"{each.name}"' for each in [*seen, section])
            raise SectionError(
                f'The {describe(section)} inherits from itself: {path}. '
                f'Remove "parent" from one of them')
        seen.append(section)
    return seen


def getSection(layout, name, subject):
    """
    :param str subject: the object that refers to the section, for the message.
    :raises SectionGoneError: the layout has no section of that name.
    """
    try:
        return layout.sections[name]
    except KeyError:
        raise SectionGoneError(name, explainUnknown(
            subject, 'section', name, layout.sections)) from None
