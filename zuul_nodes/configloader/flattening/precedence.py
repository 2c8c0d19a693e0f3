"""Which of several values an attribute has, and why.

An attribute may be set in eight places (specification, "Configuration"),
and by what Zuul has besides: defaults, and entries for labels in
sections and for images in providers.  Of two places the one further
down in :class:`Level` counts; of a section and its parent, the section.
"""

import enum
import typing

from zuul_nodes.configloader.plain import Replacement
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER

# Of these, defaults fill in what is missing, key by key.
MAPPINGS = ('tags', *LABEL_OF_ANY_DRIVER)


class Level(enum.IntEnum):
    """The places where an attribute may be set, the weakest first.

    Defaults fill in what neither the stanza nor the entries of an object
    say, as in Zuul.
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
    """Attributes that are set together.

    ``depth`` counts sections from the one that has no parent; the stanzas
    of images, flavors and labels have 0, the provider has the highest.
    ``origin`` is the configuration object in which they stand, ``line``
    where the entry for them begins there, if there is one: from 0.
    """
    level: Level
    depth: int
    origin: object
    attributes: dict
    line: int | None = None


def collect(sources):
    """
    :param sources: :class:`Source` s in any order.
    :return: attribute -> [(source, the value there)], the weakest first.
    """
    found = {}
    for source in sorted(sources, key=_getStrength):
        for name, value in source.attributes.items():
            found.setdefault(name, []).append((source, value))
    return found


def exclude(found, groups):
    """Let the strongest of what excludes one another stay.

    :param dict found: as of :func:`collect`; changed.
    :param groups: sets of attributes of which there can be one.
    """
    for group in groups:
        if len(members := group & found.keys()) > 1:
            strength = {name: _getStrength(found[name][-1][0])
                        for name in members}
            for name in members:
                if strength[name] < max(strength.values()):
                    del found[name]


def combine(settings):
    """
    :param list settings: of one attribute, as of :func:`collect`.
    :return: its value.  Scalars override, dicts merge, lists concatenate but
        for those that replace.
    """
    value = settings[0][1]
    for _, over in settings[1:]:
        value = merge(value, over)
    return _copy(value)


def merge(under, over):
    """:return: what two values come to; neither is changed."""
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
    """:return: plain data that may be changed; quicker than deepcopy."""
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copy(each) for each in value]
    return value


def fillIn(defaults, own):
    """
    :param dict defaults: what is said of all objects of a kind.
    :param dict own: what one object's stanza and entries say.
    :return: what of the defaults there is left for that object.
    """
    left = {name: value for name, value in defaults.items()
            if name not in own}
    for name in MAPPINGS:
        values, own_values = defaults.get(name), own.get(name)
        # Whatever else they are is found by the schema.
        if isinstance(values, dict) and isinstance(own_values, dict):
            left[name] = {key: value for key, value in values.items()
                          if key not in own_values}
    return left


def _getStrength(source):
    return source.level, source.depth
