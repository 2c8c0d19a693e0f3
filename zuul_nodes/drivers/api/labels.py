"""Attributes that a label sets for other objects, for its own nodes only.

A label may override attributes of its image, its flavor or its provider: a
user name, a time-out, several availability zones.  Zuul's records have no
field for these, so the flat configuration of such a label has an entry
``zuul_nodes``, a dictionary with

``image``, ``flavor``, ``provider``
    attribute -> value, which overrides that of the object,
``zones``
    names of availability zones; each node is in one of them,
``node-attributes``, ``dynamic-tags``
    dictionaries as :mod:`nodeattributes` and :mod:`tags` describe them,
``min-ready-times``
    times with another ``min-ready``, as :mod:`zuul_nodes.readytimes` describes
    them,
``request-timeout``
    seconds that requests wait for such a node; 0 for no limit,
``section``
    ``name``, the canonical name of the section that the provider is
    attached to, and ``limits``, the quota that all of that section's
    providers share: resource -> number,
``priority``
    of the provider: an integer, 0 or more.  The provider with the smallest
    number comes first; :data:`DEFAULT_PRIORITY` is omitted.
``own-part``
    of one label of the provider: what the provider's own project says of it,
    as :mod:`zuul_nodes.configloader.rules.ownpart` describes it.

Empty parts are omitted, and so is an empty entry.  :func:`forNode` applies the
entry, so drivers do not need to read it.
"""

import copy
from typing import Any, TypeVar
import zlib

from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes import readytimes
from zuul_nodes.readytimes import MIN_READY_TIMES

# The entry in the configuration of a label, and the attribute of the label.
OWN = 'zuul_nodes'
DEFAULT_PRIORITY = 100
REQUEST_TIMEOUT = 'request-timeout'
# Maximum number of nodes on one machine.
MOST_SLOTS = 1000
# Keys that do not change the provider that creates a node.
_OF_NO_VIEW = frozenset({
    'own-part', 'section', 'priority', 'node-attributes', 'dynamic-tags',
    REQUEST_TIMEOUT, MIN_READY_TIMES})

Zone = TypeVar('Zone', str, None, str | None)


def getOwn(label: BaseProviderLabel) -> dict[str, Any]:
    """
    :param label: of any driver.
    :return: the entry of the label as described above.
    """
    return getattr(label, OWN, {})


def getPriority(label: BaseProviderLabel) -> int:
    """
    :param label: of any driver.
    :return: the priority of its provider: the smallest comes first.
    """
    return getOwn(label).get('priority', DEFAULT_PRIORITY)


def getMinReady(label: BaseProviderLabel, now: float) -> int:
    """
    :param label: of any driver.
    :param now: in seconds since the epoch.
    :return: how many nodes of the label to keep ready now.
    """
    return readytimes.getNumber(
        label.min_ready, getOwn(label).get(MIN_READY_TIMES), now)


def getNextMinReady(label: BaseProviderLabel, now: float) -> float | None:
    """
    :param label: of any driver.
    :param now: in seconds since the epoch.
    :return: when :func:`getMinReady` may have another result; None if it has
        the same always.
    """
    return readytimes.getNext(getOwn(label).get(MIN_READY_TIMES), now)


def mayBeReady(label: BaseProviderLabel) -> bool:
    """:return: whether nodes of a label are kept ready at any time."""
    return readytimes.isAnyReady(
        label.min_ready, getOwn(label).get(MIN_READY_TIMES))


def getRequestTimeout(label: BaseProviderLabel) -> int | None:
    """
    :param label: of any driver.
    :return: the maximum seconds that a request waits for such a node; 0 for no
        limit, None if the label does not say it.
    """
    return getOwn(label).get(REQUEST_TIMEOUT)


def getZones(label: BaseProviderLabel) -> list[str]:
    """
    :param label: of any driver.
    :return: the zones that the label names for its nodes; empty if any zone
        is allowed.
    """
    zone = getattr(label, 'az', None)
    return getOwn(label).get('zones') or ([zone] if zone else [])


def turnZones(zones: list[Zone], key: object) -> list[Zone]:
    """Rotate a list of zones, to distribute nodes over them.

    :param key: selects the first zone: equal for all nodes of a request, such
        as the time of the request.
    :return: the zones, beginning with any of them.
    """
    start = zlib.crc32(str(key).encode()) % len(zones) if zones else 0
    return zones[start:] + zones[:start]


def forNode(provider: BaseProvider, label_name: str,
            zone: str | None) -> BaseProvider:
    """Apply the attributes that a label sets for other objects.

    :param provider: of any driver.
    :param label_name: the label of a node.
    :param zone: one of those that the label names; any other value selects
        the first of them.
    :return: the provider as it creates the node: itself, or a copy with
        the label, its image and its flavor as the label overrides them.
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
    """:return: a copy of a provider with other attributes, which is never
        written to ZooKeeper."""
    view = copy.copy(provider)
    # Zuul allows attributes of records to be set only in order to write them.
    vars(view).update(attributes)
    return view


def _getConfig(provider: BaseProvider, kind: str, name: str) -> dict[str, Any]:
    return next(config for config in provider.config[kind]
                if config['name'] == name)
