"""What is wrong whatever driver it is for, told where it is written, at once.

A provider checks all that it is made of, for its own driver.  What no provider
uses, or not yet, is looked at here: whether any driver knows such an attribute
at such an object, and whether the value can be meant.  Drivers without a
connection count, too: several Zuuls may share a project with images.
"""

import re
import typing

import voluptuous as vs
from zuul.driver import ProviderInterface

from zuul_nodes.configloader.errors import (
    AttributePlaceError,
    AttributeValueError,
    UnknownAttributeError,
    describe,
    explainPlace,
)
from zuul_nodes.configloader.flattening.vocabulary import (
    FINAL,
    STRUCTURE,
    findFault,
    findFaultOfAll,
    getVocabulary,
    show,
)
from zuul_nodes.drivers import beStrictOf
from zuul_nodes.suggestions import quote, suggest

LISTS = {f'{kind}s': kind for kind in STRUCTURE}
DEFAULTS = {f'{kind}-defaults': kind for kind in STRUCTURE}
OF_SECTIONS = frozenset({
    'name', 'description', 'parent', 'abstract', 'connection',
    *LISTS, *DEFAULTS})
# At the end of what is wrong with a part of a list: which part.
PART = re.compile(r' at \S+\Z')
OF_ENTRIES = frozenset({FINAL}).union(*STRUCTURE.values())


class Fault(typing.NamedTuple):
    """
    ``attribute``
        the name of that which is wrong.
    ``error_class``
        a subclass of ConfigurationSyntaxError.
    ``what``
        goes on where whose attribute it is has been said.
    """
    attribute: str
    error_class: type
    what: str


def findFaults(pcontext, kind, attributes, schemas=None):
    """
    :param ParseContext pcontext: or None, where there are no drivers.
    :param str kind: of the object that they stand at; "provider" for a
        section.
    :param dict attributes: as they are written.
    :param dict schemas: those that Zuul has for some of them, if any.
    :return: yields a :class:`Fault` for each that is wrong.
    """
    vocabularies = _getVocabularies(pcontext)
    for name, value in attributes.items():
        knowing = [vocabulary for vocabulary in vocabularies
                   if vocabulary.knows(name)]
        places = [vocabulary.findPlace(name, kind) for vocabulary in knowing]
        if vocabularies and not knowing:
            yield Fault(
                name, UnknownAttributeError,
                f'has the attribute {quote(str(name))}, which no '
                f'driver knows. {_suggest(name, kind, vocabularies)}')
        elif places and all(places):
            yield Fault(name, AttributePlaceError, explainPlace(
                name, kind, places[0]))
        elif fault := _findFault(name, value, schemas or {}, knowing):
            yield Fault(name, AttributeValueError,
                        f'has a wrong "{name}": {fault}')


def keepFaults(pcontext, config_object, who, faults):
    """Have faults told by the rule that knows what else is told.

    :param ParseContext pcontext: or None, where there is no such rule.
    :param config_object: gets them as ``faults``: a list of the attribute of
        each, and of an error.
    :param str who: has the attributes, in words.
    :param faults: each a :class:`Fault`.
    :raises ConfigurationSyntaxError: there is no rule.
    """
    errors = [(fault.attribute, fault.error_class(f'{who} {fault.what}'))
              for fault in faults]
    for _, error in errors:
        error.source_context = config_object.source_context
        if pcontext is None:
            raise error
    config_object.faults = [*getattr(config_object, 'faults', ()), *errors]


def keepFaultsOfSection(pcontext, section):
    """As :func:`keepFaults`, for all that a section says."""
    config, who = section.config, f'the {describe(section)}'
    keepFaults(pcontext, section, f'T{who[1:]}', findFaults(
        pcontext, 'provider', _without(config, OF_SECTIONS)))
    for name, kind in LISTS.items():
        for entry in config.get(name) or ():
            part = quote(str(entry.get('name')))
            keepFaults(
                pcontext, section, f'The entry for the {kind} {part} of {who}',
                findFaults(pcontext, kind, _without(entry, OF_ENTRIES)))
    for name, kind in DEFAULTS.items():
        if isinstance(config.get(name), dict):
            keepFaults(
                pcontext, section, f'"{name}" of {who}',
                findFaults(pcontext, kind, _without(config[name], {FINAL})))


def _without(attributes, names):
    return {name: value for name, value in attributes.items()
            if name not in names}


def _findFault(name, value, schemas, vocabularies):
    """:return: what is wrong with a value for all that know the attribute, or
        None."""
    if name in schemas:
        # Zuul parses the object, whoever uses it.
        fault = findFault(
            vs.Schema(beStrictOf(name, schemas[name])), value)
    else:
        fault = findFaultOfAll(vocabulary.findFault(name, value)
                               for vocabulary in vocabularies)
    if fault is None or (isinstance(value, list) and PART.search(fault)):
        return fault
    return f'{fault}, not {show(value)}'


def _suggest(name, kind, vocabularies):
    known = set()
    for vocabulary in vocabularies:
        known |= vocabulary.known | vocabulary.spellings.keys()
        if kind == 'provider':
            known |= vocabulary.provider
    return suggest(name, known)


def _getVocabularies(pcontext):
    """:return: a list of those of all drivers that are installed."""
    drivers = getattr(getattr(pcontext, 'connections', None), 'drivers', {})
    return [getVocabulary(driver.getProviderSchemaClass())
            for driver in drivers.values()
            if isinstance(driver, ProviderInterface)]
