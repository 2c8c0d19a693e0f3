"""Ask the schemas of the new drivers whether a value is valid.

So the converter need not know their rules, and what it writes loads.
"""

import functools

import voluptuous as vs

from zuul_nodes.configloader.flattening.vocabulary import (
    LABEL_ALONE,
    findFaultOfAll,
    getVocabulary,
)
from zuul_nodes.drivers import BOUNDS, LABEL_OF_ANY_DRIVER
from zuul_nodes.drivers.static.node import validateNode
from zuul_nodes.plugin import extensions

# Objects of each kind to which one attribute is added.
OBJECTS = (('image', {'name': 'one', 'type': 'cloud'}),
           ('image', {'name': 'one', 'type': 'zuul'}),
           ('flavor', {'name': 'one'}),
           ('label', {'name': 'one', 'image': 'one', 'flavor': 'one'}))
# No driver's schema of labels has these.
OF_NO_DRIVER = LABEL_ALONE.keys() | LABEL_OF_ANY_DRIVER.keys()


@functools.cache
def loadDriver(name):
    """:return: the class of a driver in ``zuul.conf``."""
    entry_point, *_ = extensions.find()[extensions.DRIVERS][name]
    return entry_point.load()


def _getVocabulary(driver):
    return getVocabulary(loadDriver(driver).schema_class)


def find(driver, name, value):
    """
    :param str driver: in ``zuul.conf``.
    :param str name: of a new attribute.
    :return: what is wrong with the value, or None.
    """
    vocabulary = _getVocabulary(driver)
    return (vocabulary.findFault(name, value)
            or _findInObjects(vocabulary, name, value))


def _findInObjects(vocabulary, name, value):
    """Apply the conditions that a driver has for whole objects.

    :return: as :func:`find`.
    """
    if name in OF_NO_DRIVER:
        return None
    return findFaultOfAll(
        _findInObject(vocabulary.validators[kind], {**rest, name: value}, name)
        for kind, rest in OBJECTS if name in getattr(vocabulary, kind))


def _findInObject(validator, thing, name):
    try:
        validator.schema(thing)
    except vs.Invalid as invalid:
        for error in getattr(invalid, 'errors', [invalid]):
            # Others are about what the object lacks.
            if error.path[:1] == [name]:
                where = ''.join(f' at {key}' for key in error.path[1:])
                return f'{error.error_message}{where}'
    except LookupError:
        # The schema needs another attribute to choose one of its parts.
        pass
    return None


def findInNode(name, value):
    """
    :param str name: of an attribute of a static node.
    :return: what is wrong with the value, or None.
    """
    entry = {'name': 'node', 'labels': ['label'], name: value}
    try:
        validateNode(entry)
    except Exception as error:
        return str(error).removeprefix('The node "node": ')
    return None


def findKnown(driver, names):
    """:return: the first of the names that is an attribute of flavors."""
    known = _getVocabulary(driver).flavor
    return next(name for name in names if name in known)


def getInheritable(driver, kind):
    """:return: the attributes that ``<kind>-defaults`` may have."""
    return _getVocabulary(driver).inheritable[kind]


def clamp(name, value):
    """:return: the nearest valid number, or None if it is no number."""
    bound = BOUNDS.get(name)
    if bound is None or type(value) not in (int, float):
        return None
    return int(min(max(value, bound.least), bound.most))
