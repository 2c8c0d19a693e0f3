"""Checks of attributes that do not depend on a provider.

A provider checks its parts against the schemas of its own driver.  Objects
that no provider uses, and sections, are checked here against all drivers: at
least one driver must know the attribute, accept it on that kind of object and
accept its value.  The checks include drivers without a connection, because
several Zuul installations may share a project with images.
"""

import typing

import voluptuous as vs
from zuul.driver import ProviderInterface

from zuul_nodes.configloader.errors import (
    AttributePlaceError,
    AttributeValueError,
    UnknownAttributeError,
    describe,
    explainMisplaced,
)
from zuul_nodes.configloader.flattening.vocabulary import (
    FINAL,
    ITEM,
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
OF_ENTRIES = frozenset({FINAL}).union(*STRUCTURE.values())


class Fault(typing.NamedTuple):
    """A mistake in one attribute.

    ``attribute``
        the name of the attribute.
    ``error_class``
        a subclass of ConfigurationSyntaxError.
    ``what``
        the mistake, as the rest of a sentence that begins with the object.
    """
    attribute: str
    error_class: type
    what: str


def findFaults(pcontext, kind, attributes, schemas=None):
    """Find the attributes that no driver accepts as they are written.

    :param ParseContext pcontext: the installed drivers; None if there are
        none.
    :param str kind: the kind of object that has the attributes; "provider"
        for a section.
    :param dict attributes: names and values as written.
    :param dict schemas: the schemas that Zuul has for some of them, if any.
    :return: yields a :class:`Fault` for each invalid attribute.
    """
    vocabularies = _getVocabularies(pcontext)
    for name, value in attributes.items():
        knowing = [vocabulary for vocabulary in vocabularies
                   if vocabulary.knows(name)]
        proper_kinds = [vocabulary.findProperKinds(name, kind)
                        for vocabulary in knowing]
        if vocabularies and not knowing:
            yield Fault(
                name, UnknownAttributeError,
                f'has the attribute {quote(str(name))}, which no '
                f'driver knows. {_suggest(name, kind, vocabularies)}')
        elif proper_kinds and all(proper_kinds):
            yield Fault(name, AttributePlaceError, explainMisplaced(
                name, kind, proper_kinds[0]))
        elif fault := _findFault(name, value, schemas or {}, knowing):
            yield Fault(name, AttributeValueError,
                        f'has an invalid value for "{name}": {fault}')


def keepFaults(pcontext, config_object, subject, faults):
    """Record faults for the rule that reports them with the other errors.

    :param ParseContext pcontext: None if no rule will report the faults.
    :param config_object: its ``faults`` become a list of (attribute, error).
    :param str subject: the object, as the beginning of each message.
    :param faults: an iterable of :class:`Fault`.
    :raises ConfigurationSyntaxError: there are faults and no rule reports
        them.
    """
    errors = [(fault.attribute, fault.error_class(f'{subject} {fault.what}'))
              for fault in faults]
    for _, error in errors:
        error.source_context = config_object.source_context
        if pcontext is None:
            raise error
    config_object.faults = [*getattr(config_object, 'faults', ()), *errors]


def keepFaultsOfSection(pcontext, section):
    """Record the faults of a section, its entries and its defaults."""
    config, subject = section.config, f'the {describe(section)}'
    keepFaults(pcontext, section, f'T{subject[1:]}', findFaults(
        pcontext, 'provider', _without(config, OF_SECTIONS)))
    for name, kind in LISTS.items():
        for entry in config.get(name) or ():
            part = quote(str(entry.get('name')))
            keepFaults(
                pcontext, section,
                f'The entry for the {kind} {part} of {subject}',
                findFaults(pcontext, kind, _without(entry, OF_ENTRIES)))
    for name, kind in DEFAULTS.items():
        if isinstance(config.get(name), dict):
            keepFaults(
                pcontext, section, f'"{name}" of {subject}',
                findFaults(pcontext, kind, _without(config[name], {FINAL})))


def _without(attributes, names):
    return {name: value for name, value in attributes.items()
            if name not in names}


def _findFault(name, value, schemas, vocabularies):
    """:return: the mistake in a value, if every driver that knows the
        attribute rejects the value; or None."""
    if name in schemas:
        # Zuul itself parses the attribute, with any driver.
        fault = findFault(
            vs.Schema(beStrictOf(name, schemas[name])), value)
    else:
        fault = findFaultOfAll(vocabulary.findFault(name, value)
                               for vocabulary in vocabularies)
    if fault is None or (isinstance(value, list) and ITEM.search(fault)):
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
    """:return: a list with the vocabularies of all installed drivers."""
    drivers = getattr(getattr(pcontext, 'connections', None), 'drivers', {})
    return [getVocabulary(driver.getProviderSchemaClass())
            for driver in drivers.values()
            if isinstance(driver, ProviderInterface)]
