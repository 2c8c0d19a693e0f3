"""Endpoints of clouds: preparation, quota and clean-up."""

from zuul_nodes.launcher.endpoints.answers import Answers
from zuul_nodes.launcher.endpoints.leaks import Cleanup
from zuul_nodes.launcher.endpoints.logins import LOGIN, Logins
from zuul_nodes.launcher.endpoints.others import OTHERS, OtherEndpoints
from zuul_nodes.launcher.endpoints.reconciler import EndpointReconciler
from zuul_nodes.launcher.endpoints.statuses import STATUSES, ProviderStatuses
from zuul_nodes.launcher.endpoints.turns import Turns

__all__ = [
    'LOGIN',
    'OTHERS',
    'STATUSES',
    'Answers',
    'Cleanup',
    'EndpointReconciler',
    'Logins',
    'OtherEndpoints',
    'ProviderStatuses',
    'Turns',
]
