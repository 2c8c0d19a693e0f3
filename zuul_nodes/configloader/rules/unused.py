"""The rule for what no provider uses, or not yet.

A provider tells what is wrong with all that it is made of.  What it does not
tell is told at the object itself, so that one mistake gives one error.
"""

from zuul_nodes.configloader.errors import (
    UnknownNameError,
    describe,
    explainConnection,
    explainUnknown,
)
from zuul_nodes.configloader.flattening.vocabulary import STRUCTURE
from zuul_nodes.configloader.objects.section import getLineage


class CheckUnused:

    def check(self, layout, parse_context):
        """
        :param Layout layout: with all of its objects.
        :param ParseContext parse_context: has the errors of its providers, and
            gets others.
        """
        attached = _getAttached(layout)
        for section in layout.sections.values():
            with (parse_context.errorContext(stanza='section', conf=section),
                  parse_context.accumulator.catchErrors()):
                getLineage(layout, section)
                if section.name not in attached:
                    _checkConnection(parse_context, section)
                    _checkEntries(layout, section)
        told = [error.short_error for error in parse_context.error_list]
        for kind in (*STRUCTURE, 'section'):
            for config_object in getattr(layout, f'{kind}s').values():
                with parse_context.errorContext(
                        stanza=kind, conf=config_object):
                    for error in _findUntold(config_object, told):
                        parse_context.accumulator.addError(error)


def _getAttached(layout):
    """:return: the names of the sections that providers are made of."""
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
    # Processes that deal with no providers have none.
    if connections and name is not None and name not in connections:
        raise explainConnection(section, name, connections)


def _checkEntries(layout, section):
    for kind in STRUCTURE:
        known = getattr(layout, f'{kind}s')
        for entry in section.config.get(f'{kind}s') or ():
            name = entry.get('name')
            if not isinstance(name, str) or name not in known:
                raise UnknownNameError(explainUnknown(
                    f'The {describe(section)}', kind, str(name), known))


def _findUntold(config_object, told):
    """
    :param told: messages of other errors.
    :return: yields the errors of an object that none of them has told.
    """
    for attribute, error in getattr(config_object, 'faults', ()):
        who, name = describe(config_object), f'"{attribute}"'
        if not any(who in message and name in message for message in told):
            yield error
