"""Which of several values an attribute has, and why.

An attribute may be set in eight places (specification, "Configuration"),
and by what Zuul has besides: defaults, and entries for labels in
sections and for images in providers.  Of two places the one further
down in :class:`Level` counts; of a section and its parent, the section.
"""

import enum
import typing


class Level(enum.IntEnum):
    """The places where an attribute may be set, the weakest first.

    Defaults fill in what neither the stanza nor the entries of an object
    say: Zuul's rule, which knows no order between them and what an
    image, a flavor or a label says of itself.
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


def combine(settings):
    """
    :param list settings: of one attribute, as of :func:`collect`.
    :return: its value.  Scalars override, dicts merge, lists concatenate.
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
    if isinstance(under, list) and isinstance(over, list):
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
    for name in ('tags',):
        # Whatever else they are is found by the driver's schema.
        if (isinstance(own.get(name), dict)
                and isinstance(defaults.get(name), dict)):
            left[name] = {key: value for key, value in defaults[name].items()
                          if key not in own[name]}
    return left


def _getStrength(source):
    return source.level, source.depth
