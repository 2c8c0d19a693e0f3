"""What a label says beyond itself.

A label may say something of its image, its flavor or its provider, for
its own nodes only: a user name, a time-out, several availability zones.
Zuul's records have no place for that, so the flat configuration of such
a label has an entry of ours, ``zuul_nodes``, a dictionary of

``image``, ``flavor``, ``provider``
    attribute -> value, in place of that object's,
``zones``
    names of availability zones, one of which a node gets,
``node-attributes``, ``dynamic-tags``
    as :mod:`nodeattributes` and :mod:`tags` describe them: dicts,
``section``
    ``name``, the canonical name of the section that the provider is
    attached to, and ``limits``, the quota that all of that section's
    providers share: resource -> number,
``priority``
    of the provider: an integer, 0 or more.  The provider with the least
    comes first; :data:`DEFAULT_PRIORITY` is left out.

Parts that say nothing are left out, and so is an empty entry.
:func:`forNode` puts it to use; no driver needs to know of it.
"""

import copy
from typing import Any, TypeVar
import zlib

from zuul.provider import BaseProvider, BaseProviderLabel

# An entry in the configuration of a label, and so an attribute of it.
OWN = 'zuul_nodes'
DEFAULT_PRIORITY = 100
# So many nodes a machine has at most.
MOST_SLOTS = 1000
# What changes nothing of the provider that makes a node.
_OF_NO_VIEW = frozenset({
    'section', 'priority', 'node-attributes', 'dynamic-tags'})

Zone = TypeVar('Zone', str, None, str | None)


def getOwn(label: BaseProviderLabel) -> dict[str, Any]:
    """
    :param label: of any driver.
    :return: what the label says beyond itself, a dict as described above.
    """
    return getattr(label, OWN, {})


def getPriority(label: BaseProviderLabel) -> int:
    """
    :param label: of any driver.
    :return: the priority of the provider that has it: the least comes
        first.
    """
    return getOwn(label).get('priority', DEFAULT_PRIORITY)


def getZones(label: BaseProviderLabel) -> list[str]:
    """
    :param label: of any driver.
    :return: the zones that it names for its nodes, a list; empty if any
        will do.
    """
    zone = getattr(label, 'az', None)
    return getOwn(label).get('zones') or ([zone] if zone else [])


def turnZones(zones: list[Zone], key: object) -> list[Zone]:
    """
    :param key: what a zone is chosen by: whatever is the same for all nodes
        of a request, such as the time of the request.
    :return: a list of the zones, of which any may be the first.
    """
    start = zlib.crc32(str(key).encode()) % len(zones) if zones else 0
    return zones[start:] + zones[:start]


def forNode(provider: BaseProvider, label_name: str,
            zone: str | None) -> BaseProvider:
    """
    :param provider: of any driver.
    :param label_name: the label of a node.
    :param zone: one of those that the label names; if it is none of
        them, it is the first of them.
    :return: the provider as it makes that node: itself, or a copy with
        the label, its image and its flavor as the label wants them.
    """
    label = provider.labels[label_name]
    own = getOwn(label)
    if own.keys() <= _OF_NO_VIEW:
        return provider
    changes = {}
    if zones := own.get('zones'):
        label = copy.copy(label)
        label.az = zone if zone in zones else zones[0]
        changes['labels'] = {**provider.labels, label_name: label}
    if attributes := own.get('image'):
        changes['images'] = {**provider.images, label.image: (
            provider.parseImage(
                _getConfig(provider, 'images', label.image) | attributes,
                provider.config, provider.connection))}
    if attributes := own.get('flavor'):
        changes['flavors'] = {**provider.flavors, label.flavor: (
            provider.parseFlavor(
                _getConfig(provider, 'flavors', label.flavor) | attributes,
                provider.config, provider.connection))}
    for name, value in own.get('provider', {}).items():
        changes[name.replace('-', '_')] = value
    return makeView(provider, **changes)


def makeView(provider: BaseProvider, **attributes: Any) -> BaseProvider:
    """:return: a copy of a provider with other attributes, which nothing
        writes."""
    view = copy.copy(provider)
    # Zuul lets attributes of records be set only to write them.
    vars(view).update(attributes)
    return view


def _getConfig(provider: BaseProvider, kind: str, name: str) -> dict[str, Any]:
    return next(config for config in provider.config[kind]
                if config['name'] == name)
