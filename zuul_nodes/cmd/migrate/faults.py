"""Ask the schemas of the new drivers whether a value is valid.

So the converter need not know their rules, and what it writes loads.
"""

import functools

from zuul_nodes.configloader.flattening.vocabulary import getVocabulary
from zuul_nodes.drivers import BOUNDS
from zuul_nodes.drivers.static.node import validateNode
from zuul_nodes.plugin import extensions


@functools.cache
def _getVocabulary(driver):
    entry_point, *_ = extensions.find()[extensions.DRIVERS][driver]
    return getVocabulary(entry_point.load().schema_class)


def find(driver, name, value):
    """
    :param str driver: in ``zuul.conf``.
    :param str name: of a new attribute.
    :return: what is wrong with the value, or None.
    """
    return _getVocabulary(driver).findFault(name, value)


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


def getInheritable(driver, kind):
    """:return: the attributes that ``<kind>-defaults`` may have."""
    return _getVocabulary(driver).inheritable[kind]


def clamp(name, value):
    """:return: the nearest valid number, or None if it is no number."""
    bound = BOUNDS.get(name)
    if bound is None or type(value) not in (int, float):
        return None
    return int(min(max(value, bound.least), bound.most))
