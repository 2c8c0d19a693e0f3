"""The nodes that are nobody's, as those who choose see them."""

import collections
import itertools
import operator
import typing

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isFor, isMadeFrom

State = ProviderNode.State
# The states of what is for anybody, and how far that is from being ready.
ORDER = {State.READY: 0, State.BUILDING: 1}


class Kind(typing.NamedTuple):
    """What makes nodes equal for those who choose.

    :ivar int order: by state; the least is the nearest to be ready.
    :ivar str zone: the availability zone, if it is known.
    :ivar tuple names: the label and its aliases.
    """
    order: int
    zone: str | None
    provider: str
    names: tuple
    label: str
    label_config_hash: str


def isPending(node):
    """
    :return: whether a node has not begun and nobody has asked for it.  It
        may wait for ever for room, so it neither is for anybody nor counts.
    """
    # A host does not say whether somebody has asked for one of its slots.
    return (node.state == State.REQUESTED and not node.request_id
            and not node.subnodes and not node.main_node_id)


def getKind(node):
    """:return: None if the node is not for anybody."""
    order = ORDER.get(node.state)
    # A node that is ready is locked by those who are about to take it.
    # The image of one that tests an upload may not be good for anything.
    if (order is None or node.request_id or node.subnodes
            or (node.state == State.READY and node.is_locked)
            or node.image_upload_uuid):
        return None
    return Kind(order, node.az or None, node.provider,
                tuple(dict.fromkeys(node.all_labels)), node.label,
                node.label_config_hash)


class ReadyNodes:
    """It takes no longer to choose if there are more of a kind.

    :param hasExpired: tells of a node whether it is too old to be used.
    """

    def __init__(self, hasExpired):
        self.hasExpired = hasExpired
        # Provider and label -> kind -> uuid -> node.
        self._kinds = collections.defaultdict(dict)

    def add(self, kind, node):
        for name in kind.names:
            self._kinds[kind.provider, name].setdefault(
                kind, {})[node.uuid] = node

    def remove(self, kind, node):
        for name in kind.names:
            kinds = self._kinds[kind.provider, name]
            del kinds[kind][node.uuid]
            if not kinds[kind]:
                del kinds[kind]

    def find(self, provider, label_name, number, isKept, countKept,
             zone=None):
        """
        :param BaseProvider provider: the tenant's.
        :param int number: how many are enough.
        :param isKept: tells of a node whether it is for others.
        :param countKept: tells of a kind how many of the rest are.
        :param str zone: an availability zone; nodes that are known to be
            in another one are not to be had.
        :return: a list of uuids, the best first.
        """
        found = []
        kinds = [
            (kind.order, kind.zone != zone, len(kind.names), kind, nodes)
            for kind, nodes in self._get(provider, label_name)
            if zone is None or kind.zone in (None, zone)]
        for *_, kind, nodes in sorted(
                kinds, key=operator.itemgetter(0, 1, 2)):
            free = (node.uuid for node in nodes.values()
                    if isFor(node, provider) and not self.hasExpired(node)
                    and not isKept(node.uuid))
            found += itertools.islice(
                itertools.islice(free, countKept(kind), None),
                number - len(found))
            if len(found) == number:
                break
        return found

    def has(self, provider_name, label_name):
        """:return: whether there are any, for whomever."""
        return bool(self._kinds.get((provider_name, label_name)))

    def count(self, kind):
        """:return: how many there are of a kind."""
        return len(self._kinds[kind.provider, kind.label].get(kind, ()))

    def getIds(self, provider_name, label_name):
        """:return: yields the uuids of all that have a label."""
        return itertools.chain(*self._kinds.get(
            (provider_name, label_name), {}).values())

    def getReady(self):
        """:return: yields all that are ready."""
        for (_, name), kinds in self._kinds.items():
            for kind, nodes in kinds.items():
                # Each is there under all of its names.
                if name == kind.label and kind.order == ORDER[State.READY]:
                    yield from nodes.values()

    def getZones(self, provider, label_name):
        """:return: the availability zones where there are some, a set."""
        return {kind.zone for kind, _ in self._get(provider, label_name)
                if kind.zone}

    def _get(self, provider, label_name):
        """:return: a list of kinds, with the nodes of each."""
        kinds = self._kinds.get((provider.canonical_name, label_name))
        return [item for item in kinds.items()
                if isMadeFrom(item[0], provider)] if kinds else []
