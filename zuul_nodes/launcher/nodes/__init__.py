"""Nodes: launched, checked, kept ready, reclaimed and terminated."""

from zuul_nodes.launcher.nodes.consolelog import Consoles
from zuul_nodes.launcher.nodes.hostkeyscan import KeyScanner
from zuul_nodes.launcher.nodes.newrecords import Maker
from zuul_nodes.launcher.nodes.readying import Readying
from zuul_nodes.launcher.nodes.recheck import Liveness
from zuul_nodes.launcher.nodes.reclaim import Surplus
from zuul_nodes.launcher.nodes.reconciler import NodeReconciler
from zuul_nodes.launcher.nodes.snapshots import Snapshots
from zuul_nodes.launcher.nodes.statemachines import Machines
from zuul_nodes.launcher.nodes.static import Registration

__all__ = [
    'Consoles',
    'KeyScanner',
    'Liveness',
    'Machines',
    'Maker',
    'NodeReconciler',
    'Readying',
    'Registration',
    'Snapshots',
    'Surplus',
]
