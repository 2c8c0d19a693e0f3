"""What no driver can make sense of, told where it is written, at once.

A provider checks all that it is made of, for its own driver.  What no provider
uses, or not yet, is looked at here: whether any driver knows such an
attribute, and whether a number can be meant.
"""

import functools

from zuul.driver import ProviderInterface

from zuul_nodes.configloader.errors import (
    AttributeValueError,
    UnknownAttributeError,
    describe,
    explainConnection,
    quote,
    suggest,
)
from zuul_nodes.configloader.vocabulary import (
    FINAL,
    NUMBERS,
    OF_ANY_IMAGE,
    STRUCTURE,
    checkNumber,
    getVocabulary,
)

LISTS = {f'{kind}s': kind for kind in STRUCTURE}
OF_SECTIONS = frozenset({
    'name', 'description', 'parent', 'abstract', 'connection', 'nodes',
    *LISTS, *(f'{kind}-defaults' for kind in STRUCTURE)})
OF_PARTS = frozenset({FINAL, *OF_ANY_IMAGE}).union(*STRUCTURE.values())


def checkPart(pcontext, part):
    """Have an error shown for what is wrong with an image, a flavor or a
    label; the object stays, so nothing else is in error for the lack of it.

    :param ParseContext pcontext: or None, where there are no drivers.
    :param part: with ``attributes``.
    """
    _check(pcontext, part, part.attributes, f'The {describe(part)}', OF_PARTS)


def checkSection(pcontext, section):
    """As :func:`checkPart`, for a section."""
    _check(pcontext, section, section.config, f'The {describe(section)}',
           OF_SECTIONS)
    for name, kind in LISTS.items():
        for entry in section.config.get(name) or ():
            part = quote(str(entry.get('name')))
            _check(pcontext, section, entry,
                   f'The entry for the {kind} {part} of the '
                   f'{describe(section)}', OF_PARTS)
    connections = _getRegistry(pcontext)
    name = section.config.get('connection')
    if connections and name is not None and (
            name not in connections.connections):
        _tell(pcontext, section, explainConnection(
            section, name, connections.connections))


def _check(pcontext, config_object, attributes, who, others):
    """
    :param config_object: that they are of, for its place.
    :param dict attributes: as they are written.
    :param others: names that mean something to Zuul.
    """
    drivers = getattr(_getRegistry(pcontext), 'drivers', {})
    known = _getKnown(frozenset(
        driver.getProviderSchemaClass() for driver in drivers.values()
        if isinstance(driver, ProviderInterface)))
    if not known:
        return
    for name, value in attributes.items():
        if name not in known and name not in others:
            _tell(pcontext, config_object, UnknownAttributeError(
                f'{who} has the attribute {quote(str(name))}, which no '
                f'driver knows. {suggest(name, known)}'))
        elif problem := name in NUMBERS and checkNumber(value):
            _tell(pcontext, config_object, AttributeValueError(
                f'{who} has a wrong "{name}": {problem}'))


@functools.cache
def _getKnown(schema_classes):
    """:return: a set of the attributes that any of these drivers knows, by
        all of their names."""
    known = set()
    for schema_class in schema_classes:
        vocabulary = getVocabulary(schema_class)
        known |= (vocabulary.known | vocabulary.provider
                  | vocabulary.spellings.keys())
    return known


def _getRegistry(pcontext):
    return getattr(pcontext, 'connections', None)


def _tell(pcontext, config_object, error):
    error.source_context = config_object.source_context
    pcontext.accumulator.addError(error)
