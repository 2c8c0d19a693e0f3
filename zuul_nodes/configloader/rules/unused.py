"""Checks of objects that no provider uses.

A provider reports the mistakes in all its parts.  This rule reports the
mistakes that no provider has reported, so that one mistake gives one error.
"""

from zuul_nodes.configloader.errors import describe, explainConnection
from zuul_nodes.configloader.flattening.parts import checkName
from zuul_nodes.configloader.flattening.vocabulary import STRUCTURE
from zuul_nodes.configloader.objects.section import getLineage


class CheckUnused:

    def check(self, layout, parse_context):
        """
        :param Layout layout: with all of its objects.
        :param ParseContext parse_context: contains the errors of the
            layout's providers, and gets further errors.
        """
        attached = _getAttached(layout)
        for section in layout.sections.values():
            with (parse_context.errorContext(stanza='section', conf=section),
                  parse_context.accumulator.catchErrors()):
                getLineage(layout, section)
                if section.name not in attached:
                    _checkConnection(parse_context, section)
                    _checkEntries(section)
        reported = [error.short_error for error in parse_context.error_list]
        for kind in (*STRUCTURE, 'section'):
            for config_object in getattr(layout, f'{kind}s').values():
                with parse_context.errorContext(
                        stanza=kind, conf=config_object):
                    for error in _findUnreported(config_object, reported):
                        parse_context.accumulator.addError(error)


def _getAttached(layout):
    """:return: the names of the sections that providers use."""
    found = set()
    for provider_config in layout.provider_configs.values():
        name = provider_config.section
        while name in layout.sections and name not in found:
            found.add(name)
            name = layout.sections[name].parent
    return found


def _checkConnection(parse_context, section):
    connections = parse_context.connections.connections
    name = section.config.get('connection')
    # Processes that do not manage providers have no connections.
    if connections and name is not None and name not in connections:
        raise explainConnection(section, name, connections)


def _checkEntries(section):
    """Check that entries have names.

    The names themselves are not checked: a section that serves several
    tenants may list objects that this tenant does not have.
    """
    for kind in STRUCTURE:
        for entry in section.config.get(f'{kind}s') or ():
            checkName(kind, entry, section)


def _findUnreported(config_object, reported):
    """
    :param reported: the messages that have been reported.
    :return: yields the errors of an object that are not reported yet.
    """
    for attribute, error in getattr(config_object, 'faults', ()):
        subject, name = describe(config_object), f'"{attribute}"'
        if not any(subject in message and name in message
                   for message in reported):
            yield error
