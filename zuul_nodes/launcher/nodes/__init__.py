"""Launches, checks, keeps ready, reclaims and terminates nodes."""

from zuul_nodes.launcher.nodes.consolelog import ConsoleLogs
from zuul_nodes.launcher.nodes.drift import Drift
from zuul_nodes.launcher.nodes.expiry import Expiry
from zuul_nodes.launcher.nodes.hostkeys import HostKeys
from zuul_nodes.launcher.nodes.hostkeyscan import HostKeyScanner
from zuul_nodes.launcher.nodes.launch import NodeLaunch
from zuul_nodes.launcher.nodes.launchstart import CapacityWaits, LaunchStart
from zuul_nodes.launcher.nodes.minready import MinReady, MinReadyState
from zuul_nodes.launcher.nodes.newrecords import NewRecords
from zuul_nodes.launcher.nodes.nodeindex import NodeIndex
from zuul_nodes.launcher.nodes.noderecords import NodeRecords
from zuul_nodes.launcher.nodes.nodesteps import NodeSteps
from zuul_nodes.launcher.nodes.outcomes import LaunchOutcomes
from zuul_nodes.launcher.nodes.recheck import LivenessCheck
from zuul_nodes.launcher.nodes.reclaim import Reclaim
from zuul_nodes.launcher.nodes.reconciler import NodeReconciler
from zuul_nodes.launcher.nodes.reuse import Reuse
from zuul_nodes.launcher.nodes.snapshots import Snapshots
from zuul_nodes.launcher.nodes.statemachines import StateMachines
from zuul_nodes.launcher.nodes.static import StaticNodes
from zuul_nodes.launcher.nodes.termination import NodeTermination

__all__ = [
    'CapacityWaits',
    'ConsoleLogs',
    'Drift',
    'Expiry',
    'HostKeyScanner',
    'HostKeys',
    'LaunchOutcomes',
    'LaunchStart',
    'LivenessCheck',
    'MinReady',
    'MinReadyState',
    'NewRecords',
    'NodeIndex',
    'NodeLaunch',
    'NodeReconciler',
    'NodeRecords',
    'NodeSteps',
    'NodeTermination',
    'Reclaim',
    'Reuse',
    'Snapshots',
    'StateMachines',
    'StaticNodes',
]
