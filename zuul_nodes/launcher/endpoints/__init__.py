"""Endpoints: prepared for their providers, and cleaned up."""

from zuul_nodes.launcher.endpoints.reconciler import EndpointReconciler

__all__ = [
    'EndpointReconciler',
]
