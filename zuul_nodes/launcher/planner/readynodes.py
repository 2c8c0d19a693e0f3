"""The unassigned nodes, grouped for the choice of nodes for a request."""

import collections
from collections.abc import Callable, Iterator
import itertools
import operator
from typing import NamedTuple, TypeAlias

from zuul.model import ProviderNode
from zuul.provider import BaseProvider

from zuul_nodes.launcher.providers import Identity, hasEntry, isMadeFrom

State = ProviderNode.State
# The executor zone of all nodes of a nodeset; empty if each may be anywhere.
ExecutorZone: TypeAlias = tuple[()] | tuple[str | None]
# States of nodes that any request may get -> how far the node is from ready.
ORDER = {State.READY: 0, State.BUILDING: 1}


class Kind(NamedTuple):
    """The properties in which two nodes are equal for the choice.

    :ivar order: by state; the least is the nearest to ready.
    :ivar zone: the availability zone, if it is known.
    :ivar executor_zone: None if there is none.
    :ivar names: the label and its aliases.
    """
    order: int
    zone: str | None
    executor_zone: str | None
    names: tuple[str, ...]
    identity: Identity

    @property
    def provider(self) -> str:
        """The canonical name of the provider."""
        return self.identity.provider


def isPending(node: ProviderNode) -> bool:
    """
    :return: whether the launch of a node without a request has not begun.  It
        may wait for capacity without end, so no request gets it and it uses
        no capacity.
    """
    # The record of a host does not have the requests of its slots.
    return (node.state == State.REQUESTED and not node.request_id
            and not node.subnodes and not node.main_node_id)


def getKind(node: ProviderNode, identity: Identity) -> Kind | None:
    """
    :param identity: of the node.
    :return: the Kind of a node that any request may get, or None.
    """
    order = ORDER.get(node.state)
    # A locked ready node is about to be taken.  The image of a node that
    # validates an upload may not work.
    if (order is None or node.request_id or node.subnodes
            or (node.state == State.READY and node.is_locked)
            or node.image_upload_uuid):
        return None
    return Kind(order, node.az or None, node.executor_zone,
                tuple(dict.fromkeys(node.all_labels)), identity)


class ReadyNodes:
    """It takes no longer to choose if there are more of a kind.

    :param hasExpired: tells of a node whether it is too old to be used.
    """

    def __init__(self, hasExpired: Callable[[ProviderNode], bool]) -> None:
        self.hasExpired = hasExpired
        # Provider and label -> kind -> uuid -> node.
        self._kinds: dict[
            tuple[str, str], dict[Kind, dict[str, ProviderNode]]] = (
                collections.defaultdict(dict))

    def add(self, kind: Kind, node: ProviderNode) -> None:
        for name in kind.names:
            self._kinds[kind.provider, name].setdefault(
                kind, {})[node.uuid] = node

    def remove(self, kind: Kind, node: ProviderNode) -> None:
        for name in kind.names:
            kinds = self._kinds[kind.provider, name]
            del kinds[kind][node.uuid]
            if not kinds[kind]:
                del kinds[kind]

    def find(self, provider: BaseProvider, label_name: str, number: int,
             isKept: Callable[[str], bool], countKept: Callable[[Kind], int],
             zone: str | None = None,
             executor_zone: ExecutorZone = ()) -> list[str]:
        """
        :param provider: the tenant's.
        :param number: how many are enough.
        :param isKept: tells of a node whether it is for others.
        :param countKept: tells of a kind how many of the rest are.
        :param zone: an availability zone; nodes that are known to be
            in another one are not to be had.
        :param executor_zone: of the nodes.
        :return: a list of uuids, the best first.
        """
        found: list[str] = []
        kinds = [
            (kind.order, kind.zone != zone, len(kind.names), kind, nodes)
            for kind, nodes in self._get(provider, label_name)
            if (zone is None or kind.zone in (None, zone))
            and (not executor_zone or kind.executor_zone in executor_zone)]
        for *_, kind, nodes in sorted(
                kinds, key=operator.itemgetter(0, 1, 2)):
            free = (node.uuid for node in nodes.values()
                    if hasEntry(node, provider) and not self.hasExpired(node)
                    and not isKept(node.uuid))
            found += itertools.islice(
                itertools.islice(free, countKept(kind), None),
                number - len(found))
            if len(found) == number:
                break
        return found

    def has(self, provider_name: str, label_name: str) -> bool:
        """:return: whether there are any, for whomever."""
        return bool(self._kinds.get((provider_name, label_name)))

    def count(self, kind: Kind) -> int:
        """:return: how many there are of a kind."""
        return len(self._kinds[
            kind.provider, kind.identity.label].get(kind, ()))

    def getIds(self, provider_name: str, label_name: str) -> Iterator[str]:
        """:return: yields the uuids of all that have a label."""
        return itertools.chain(*self._kinds.get(
            (provider_name, label_name), {}).values())

    def getReady(self) -> Iterator[ProviderNode]:
        """:return: yields all that are ready."""
        for (_, name), kinds in self._kinds.items():
            for kind, nodes in kinds.items():
                # Each is there under all of its names.
                if (name == kind.identity.label
                        and kind.order == ORDER[State.READY]):
                    yield from nodes.values()

    def getZones(self, provider: BaseProvider, label_name: str) -> set[str]:
        """:return: the availability zones where there are some, a set."""
        return {kind.zone for kind, _ in self._get(provider, label_name)
                if kind.zone}

    def _get(self, provider: BaseProvider,
             label_name: str) -> list[tuple[Kind, dict[str, ProviderNode]]]:
        """:return: a list of kinds, with the nodes of each."""
        kinds = self._kinds.get((provider.canonical_name, label_name))
        return [item for item in kinds.items()
                if isMadeFrom(item[0].identity, provider)] if kinds else []
