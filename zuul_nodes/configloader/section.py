"""The section: a part of a cloud, or a list of static nodes."""

import voluptuous as vs
import zuul.configloader

from zuul_nodes.configloader.errors import (
    SectionError,
    UnknownNameError,
    describe,
    explainUnknown,
)
from zuul_nodes.configloader.known import checkSection
from zuul_nodes.configloader.plain import copyStanza, keepReplacing
from zuul_nodes.configloader.vocabulary import STRUCTURE

# What "connection: null" stands for.  The static driver has a connection
# of this name wherever providers are dealt with, whatever zuul.conf says.
NULL_CONNECTION = 'null'


class SectionParser(zuul.configloader.SectionParser):
    """Parses a section, also one without a connection.

    Static nodes "are configured on a section with a null connection"
    (specification, "Configuration").
    """

    schema = zuul.configloader.SectionParser.schema.extend(
        {'connection': vs.Any(str, None)})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza; it is relieved of what Zuul can't show.
        :return: a :class:`zuul.model.Section`.
        """
        conf = copyStanza(conf)
        if conf.get('connection', ...) is None:
            conf['connection'] = NULL_CONNECTION
        section = keepReplacing(conf, super().fromYaml)
        # It is accepted here, but no driver's schema has it.
        section.config.pop('description', None)
        checkSection(self.pcontext, section)
        return section


def getLineage(layout, section):
    """
    :param Layout layout: what the tenant has.
    :param Section section: one of it.
    :return: a list of the section and those it inherits from.
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
                f'Take the parent from one of them')
        seen.append(section)
    return seen


def getSection(layout, name, who):
    """
    :param str who: refers to it.
    :raises SectionError: there is none of that name.
    """
    try:
        return layout.sections[name]
    except KeyError:
        raise SectionError(explainUnknown(
            who, 'section', name, layout.sections)) from None


class CheckSections:
    """The rule for sections, whether or not a provider is attached."""

    def check(self, layout, parse_context):
        """
        :param Layout layout: with all of its sections.
        :param ParseContext parse_context: gets the errors.
        """
        attached = self._getAttached(layout)
        for section in layout.sections.values():
            with (parse_context.errorContext(stanza='section', conf=section),
                  parse_context.accumulator.catchErrors()):
                getLineage(layout, section)
                if section.name not in attached:
                    # Providers name what their sections lack.
                    self._checkEntries(layout, section)

    def _getAttached(self, layout):
        """:return: the names of the sections that providers are made of."""
        found = set()
        for provider_config in layout.provider_configs.values():
            name = provider_config.section
            while name in layout.sections and name not in found:
                found.add(name)
                name = layout.sections[name].parent
        return found

    def _checkEntries(self, layout, section):
        for kind in STRUCTURE:
            known = getattr(layout, f'{kind}s')
            for entry in section.config.get(f'{kind}s') or ():
                name = entry.get('name')
                if not isinstance(name, str) or name not in known:
                    raise UnknownNameError(explainUnknown(
                        f'The {describe(section)}', kind, str(name), known))
