"""The work queue and the threads of the launcher."""

from zuul_nodes.launcher.workers.backoff import Backoff, getBackoff
from zuul_nodes.launcher.workers.calls import Calls
from zuul_nodes.launcher.workers.endpointpool import EndpointPools
from zuul_nodes.launcher.workers.fairness import FairPlaces
from zuul_nodes.launcher.workers.queue import WorkQueue
from zuul_nodes.launcher.workers.threads import Stopped, Threads
from zuul_nodes.launcher.workers.timedlock import TimedLock

__all__ = [
    'Backoff',
    'Calls',
    'EndpointPools',
    'FairPlaces',
    'Stopped',
    'Threads',
    'TimedLock',
    'WorkQueue',
    'getBackoff',
]
