"""What the planner says of a request: which nodes it gets, or why none."""

import dataclasses
from typing import NamedTuple

from zuul.model import ProviderNode
from zuul.provider import BaseProvider


@dataclasses.dataclass(frozen=True)
class Host:
    """A machine to be made, each slot of which is a node.

    :ivar provider: the tenant's.
    """
    node_id: str
    provider: BaseProvider
    label_name: str
    subnode_ids: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Slot:
    """One node of a nodeset.

    :ivar index: which one, in ``request.labels``.
    :ivar provider: the tenant's.
    :ivar node: that is there already, or None.
    :ivar node_id: of the node; of one to be made, too.
    :ivar host: to be made, with the node among its slots; or None.
    :ivar zone: the availability zone of one to be made; None if it is
        to be chosen when it is made.
    """
    index: int
    label_name: str
    provider: BaseProvider
    node: ProviderNode | None
    node_id: str
    host: Host | None = None
    zone: str | None = None


@dataclasses.dataclass(frozen=True)
class Grant:
    """
    :ivar slots: in the order of ``request.labels``.
    :ivar forgiven: a provider with temporary failures is tried again,
        so the record forgets these.
    """
    request_id: str
    slots: tuple[Slot, ...]
    forgiven: bool = False


@dataclasses.dataclass(frozen=True)
class Wait:
    """
    :ivar reason: for people.
    :ivar reservation: canonical names of the providers that are
        paused for the request.
    """
    reason: str
    reservation: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Impossible:
    """:ivar reason: for people; of each label, why."""
    reason: str


class Waiting(NamedTuple):
    """Requests of one tenant that wait for the same.

    :ivar reason: for people, why the first one waits.
    :ivar request_ids: their uuids, the first one's first.
    """
    reason: str
    request_ids: list[str]
