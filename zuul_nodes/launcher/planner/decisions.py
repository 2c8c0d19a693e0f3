"""What the planner says of a request: which nodes it gets, or why none."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Host:
    """A machine to be made, each slot of which is a node.

    :ivar BaseProvider provider: the tenant's.
    """
    node_id: str
    provider: object
    label_name: str
    subnode_ids: tuple


@dataclasses.dataclass(frozen=True)
class Slot:
    """One node of a nodeset.

    :ivar int index: which one, in ``request.labels``.
    :ivar BaseProvider provider: the tenant's.
    :ivar ProviderNode node: that is there already, or None.
    :ivar str node_id: of the node; of one to be made, too.
    :ivar Host host: to be made, with the node among its slots; or None.
    :ivar str zone: the availability zone of one to be made; None if it is
        to be chosen when it is made.
    """
    index: int
    label_name: str
    provider: object
    node: object
    node_id: str
    host: Host = None
    zone: str = None


@dataclasses.dataclass(frozen=True)
class Grant:
    """
    :ivar tuple slots: in the order of ``request.labels``.
    :ivar bool forgiven: a provider with temporary failures is tried again,
        so these are to be cleared.
    """
    request_id: str
    slots: tuple
    forgiven: bool = False


@dataclasses.dataclass(frozen=True)
class Wait:
    """
    :ivar str reason: for people.
    :ivar tuple reservation: canonical names of the providers that are
        paused for the request.
    """
    reason: str
    reservation: tuple = ()


@dataclasses.dataclass(frozen=True)
class Impossible:
    """:ivar str reason: for people; of each label, why."""
    reason: str
