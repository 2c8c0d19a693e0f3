"""The planner: which request gets which nodes, from which provider.

Everything here is in memory: there is no ZooKeeper, and there are no threads.
"""

from zuul_nodes.launcher.planner.capacity import (
    END,
    ENDED_STATES,
    LAST,
    Shortage,
)
from zuul_nodes.launcher.planner.decisions import Host, Slot
from zuul_nodes.launcher.planner.limits import (
    getSlotProblem,
    getSlots,
)
from zuul_nodes.launcher.planner.planner import (
    Grant,
    Impossible,
    Planner,
)
from zuul_nodes.launcher.planner.readynodes import isPending
from zuul_nodes.launcher.planner.reasons import Reason
from zuul_nodes.launcher.planner.supply import Supply
from zuul_nodes.launcher.planner.surroundings import Surroundings

__all__ = [
    'END',
    'ENDED_STATES',
    'LAST',
    'Grant',
    'Host',
    'Impossible',
    'Planner',
    'Reason',
    'Shortage',
    'Slot',
    'Supply',
    'Surroundings',
    'getSlotProblem',
    'getSlots',
    'isPending',
]
