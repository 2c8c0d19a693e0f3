"""Precedence: which of several settings of an attribute applies.

An attribute may be set in eight places (specification, "Configuration").
Zuul adds defaults, entries for labels in sections, and entries for images in
providers.  The later level in :class:`Level` overrides the earlier one, and a
section overrides its parent.
"""

import enum
import typing

from zuul_nodes.configloader.plain import Replacement
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER

# Mappings for which defaults fill in missing keys one by one.
MAPPINGS = ('tags', *LABEL_OF_ANY_DRIVER)


class Level(enum.IntEnum):
    """The levels at which an attribute may be set, the weakest first.

    Defaults apply only to attributes that neither the stanza nor the entries
    of an object set, as in Zuul.
    """
    IMAGE = enum.auto()
    FLAVOR = enum.auto()
    LABEL = enum.auto()
    SECTION = enum.auto()
    IMAGE_DEFAULTS = enum.auto()
    IMAGE_IN_SECTION = enum.auto()
    FLAVOR_DEFAULTS = enum.auto()
    FLAVOR_IN_SECTION = enum.auto()
    LABEL_DEFAULTS = enum.auto()
    LABEL_IN_SECTION = enum.auto()
    PROVIDER = enum.auto()
    IMAGE_IN_PROVIDER = enum.auto()
    FLAVOR_IN_PROVIDER = enum.auto()
    LABEL_IN_PROVIDER = enum.auto()

    def __str__(self):
        return self.name.lower().replace('_', ' ').replace(
            ' defaults', '-defaults')


class Source(typing.NamedTuple):
    """A set of attributes that one stanza or one entry sets.

    ``depth`` counts sections from the one without a parent, from 1.  The
    stanzas of images, flavors and labels have depth 0; the provider has the
    highest.  ``origin`` is the configuration object that contains the
    attributes.  ``line`` is the first line of the entry, counted from 0; None
    if the attributes are not in an entry.
    """
    level: Level
    depth: int
    origin: object
    attributes: dict
    line: int | None = None


def collect(sources):
    """Group settings by attribute.

    :param sources: an iterable of :class:`Source`, in any order.
    :return: attribute -> [(source, the value it sets)], the weakest first.
    """
    found = {}
    for source in sorted(sources, key=_getStrength):
        for name, value in source.attributes.items():
            found.setdefault(name, []).append((source, value))
    return found


def exclude(found, groups):
    """Keep only the strongest of attributes that exclude each other.

    :param dict found: as :func:`collect` returns it; changed.
    :param groups: sets of attributes of which one may be set.
    """
    for group in groups:
        if len(members := group & found.keys()) > 1:
            strength = {name: _getStrength(found[name][-1][0])
                        for name in members}
            for name in members:
                if strength[name] < max(strength.values()):
                    del found[name]


def combine(settings):
    """Combine the settings of one attribute.

    Scalars override, dicts merge and lists concatenate.  A Replacement
    overrides a list.

    :param list settings: as :func:`collect` returns them.
    :return: the value.
    """
    value = settings[0][1]
    for _, over in settings[1:]:
        value = merge(value, over)
    return _copy(value)


def merge(under, over):
    """:return: the combination of two values; neither is changed."""
    if isinstance(under, dict) and isinstance(over, dict):
        merged = {**under, **over}
        for key in under.keys() & over.keys():
            merged[key] = merge(under[key], over[key])
        return merged
    if isinstance(under, list) and isinstance(over, list) and (
            not isinstance(over, Replacement)):
        return under + over
    return over


def _copy(value):
    """:return: a copy of plain data; faster than deepcopy."""
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copy(each) for each in value]
    return value


def fillIn(defaults, own):
    """Remove from defaults what an object sets itself.

    :param dict defaults: the defaults for all objects of a kind.
    :param dict own: the attributes of one object's stanza and entries.
    :return: the defaults that apply to that object.
    """
    left = {name: value for name, value in defaults.items()
            if name not in own}
    for name in MAPPINGS:
        values, own_values = defaults.get(name), own.get(name)
        # The schema reports values of any other type.
        if isinstance(values, dict) and isinstance(own_values, dict):
            left[name] = {key: value for key, value in values.items()
                          if key not in own_values}
    return left


def _getStrength(source):
    return source.level, source.depth
