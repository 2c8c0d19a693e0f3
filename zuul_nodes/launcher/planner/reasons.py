"""The kinds of reason why requests wait, for metrics."""

import enum
from typing import NamedTuple


class Reason(enum.StrEnum):
    """Values of a label of metrics, hence few, and no texts of tenants.

    Several providers may have different reasons: the first here counts, which
    is likely to end soonest.
    """
    LAUNCHING = 'launching'
    PREPARING = 'preparing'
    BEHIND = 'behind'
    NO_FREE_NODE = 'no-free-node'
    QUOTA = 'quota'
    MAX_NODES = 'max-nodes'
    TENANT_LIMIT = 'tenant-limit'
    UNKNOWN_QUOTA = 'unknown-quota'
    PAUSED = 'paused'
    NO_IMAGE = 'no-image'
    NO_LAUNCHER = 'no-launcher'
    UNREADABLE = 'unreadable'
    GAVE_UP = 'gave-up'
    OTHER = 'other'


class Obstacle(NamedTuple):
    """Why a provider cannot serve a request, apart from capacity.

    :ivar text: for people.
    """
    reason: Reason
    text: str

    def __str__(self) -> str:
        return self.text
