"""The new configuration, as long as it is being put together."""

import dataclasses

from zuul_nodes.cmd.migrate.rules import Driver
from zuul_nodes.cmd.migrate.tree import (
    NOWHERE,
    Mapping,
    Origin,
    Sequence,
    getOrigin,
)

# Attributes that labels of one pool have in common move to its defaults, and
# so do those of images of a section.
OF_LABELS = frozenset((
    'auto-floating-ip', 'az', 'boot-from-volume', 'boot-timeout',
    'console-log', 'cpu', 'custom-data', 'host-key-checking',
    'iam-instance-profile', 'imds-http-tokens',
    'key-data', 'key-name', 'memory', 'namespace', 'networks',
    'security-groups', 'storage', 'userdata', 'volume-size', 'volume-type'))
OF_IMAGES = frozenset((
    'config-drive', 'connection-port', 'connection-type', 'import-timeout',
    'python-path', 'shell-type', 'username'))
CLOUD, ZUUL = 'cloud', 'zuul'


@dataclasses.dataclass(eq=False)
class Section:
    """A section, of a provider of Nodepool.

    :ivar Mapping attributes: its own, without the following ones.
    :ivar dict images, flavors: name -> Mapping.
    :ivar dict types: name of an image -> its type in this section.
    """
    name: str
    driver: Driver | None
    origin: Origin = NOWHERE
    attributes: Mapping = dataclasses.field(default_factory=Mapping)
    label_defaults: Mapping = dataclasses.field(default_factory=Mapping)
    image_defaults: Mapping = dataclasses.field(default_factory=Mapping)
    images: dict = dataclasses.field(default_factory=dict)
    types: dict = dataclasses.field(default_factory=dict)
    flavors: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class Pool:
    """A provider, of a pool of Nodepool.

    :ivar list nodes: static ones.
    """
    name: str
    section: Section
    origin: Origin = NOWHERE
    attributes: Mapping = dataclasses.field(default_factory=Mapping)
    limits: Mapping = dataclasses.field(default_factory=Mapping)
    label_defaults: Mapping = dataclasses.field(default_factory=Mapping)
    flavor_defaults: Mapping = dataclasses.field(default_factory=Mapping)
    images: dict = dataclasses.field(default_factory=dict)
    flavors: dict = dataclasses.field(default_factory=dict)
    labels: dict = dataclasses.field(default_factory=dict)
    nodes: Sequence = dataclasses.field(default_factory=Sequence)


@dataclasses.dataclass(eq=False)
class Offer:
    """A label in a pool.

    :ivar Mapping flavor: attributes of the flavor, or None.
    :ivar image: (type, name in Nodepool), or None.
    """
    label: str
    pool: Pool
    origin: Origin
    flavor: Mapping | None = None
    image: tuple | None = None


def place(kind, name, attributes_of):
    """Write entries for an image or a flavor.

    They are in the sections, unless pools of one section differ.

    :param str kind: ``images`` or ``flavors``.
    :param dict attributes_of: :class:`Offer` -> Mapping.
    """
    sections = {}
    for offer, attributes in attributes_of.items():
        sections.setdefault(offer.pool.section, []).append((offer, attributes))
    for section, offers in sections.items():
        first = offers[0][1]
        if all(each == first for _, each in offers):
            _put(getattr(section, kind), name, first)
            continue
        _put(getattr(section, kind), name, Mapping())
        for offer, attributes in offers:
            _put(getattr(offer.pool, kind), name, attributes)


def _put(entries, name, attributes):
    if not entries.get(name):
        entries[name] = attributes


def hoist(entries, defaults, allowed):
    """Move what all entries have in common to the defaults.

    :param entries: list of Mapping; changed.
    :param Mapping defaults: changed.
    :param allowed: names of attributes that may move.
    """
    if len(entries) < 2:
        return
    first = entries[0]
    for name in [each for each in first if each in allowed]:
        value = first[name]
        if not all(name in each and each[name] == value
                   and type(each[name]) is type(value) for each in entries):
            continue
        if any(getOrigin(each, name).comments for each in entries[1:]):
            continue
        defaults.put(name, value, getOrigin(first, name))
        for each in entries:
            del each[name]
