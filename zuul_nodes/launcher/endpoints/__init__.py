"""Endpoints: prepared for their providers, and cleaned up."""

from zuul_nodes.launcher.endpoints.reconciler import Cleanup

__all__ = [
    'Cleanup',
]
