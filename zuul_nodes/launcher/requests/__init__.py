"""Requests: planned, granted, fulfilled or failed."""

from zuul_nodes.launcher.requests.reconciler import RequestReconciler, isDone

__all__ = [
    'RequestReconciler',
    'isDone',
]
