"""Plans, grants and ends requests, and reports why they wait."""

from zuul_nodes.launcher.requests.ends import RequestEnds, isDone
from zuul_nodes.launcher.requests.grantwriter import GrantWriter
from zuul_nodes.launcher.requests.reconciler import RequestReconciler
from zuul_nodes.launcher.requests.requestrecords import RequestRecords
from zuul_nodes.launcher.requests.waits import RequestWaits

__all__ = [
    'GrantWriter',
    'RequestEnds',
    'RequestReconciler',
    'RequestRecords',
    'RequestWaits',
    'isDone',
]
