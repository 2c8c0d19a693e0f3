"""Nodes: launched, checked, kept ready, reclaimed and terminated."""

from zuul_nodes.launcher.nodes.consolelog import ConsoleLogs
from zuul_nodes.launcher.nodes.hostkeyscan import HostKeyScanner
from zuul_nodes.launcher.nodes.minready import MinReady
from zuul_nodes.launcher.nodes.newrecords import NewRecords
from zuul_nodes.launcher.nodes.recheck import LivenessCheck
from zuul_nodes.launcher.nodes.reclaim import Reclaim
from zuul_nodes.launcher.nodes.reconciler import NodeReconciler
from zuul_nodes.launcher.nodes.snapshots import Snapshots
from zuul_nodes.launcher.nodes.statemachines import StateMachines
from zuul_nodes.launcher.nodes.static import StaticNodes

__all__ = [
    'ConsoleLogs',
    'HostKeyScanner',
    'LivenessCheck',
    'MinReady',
    'NewRecords',
    'NodeReconciler',
    'Reclaim',
    'Snapshots',
    'StateMachines',
    'StaticNodes',
]
