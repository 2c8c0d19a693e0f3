"""Knows the providers, the launchers that handle them, and the meaning of
their errors."""

from zuul_nodes.launcher.providers.failures import (
    Failure,
    classify,
    describe,
    getAttempts,
    getFailure,
    hasFailed,
    isFinalAnswer,
    isForGood,
    isGone,
)
from zuul_nodes.launcher.providers.former import FormerProviders
from zuul_nodes.launcher.providers.handled import HandledEndpoints
from zuul_nodes.launcher.providers.layouts import LOST, Layouts
from zuul_nodes.launcher.providers.lookups import Lookups
from zuul_nodes.launcher.providers.names import Names
from zuul_nodes.launcher.providers.operators import prepareDrivers
from zuul_nodes.launcher.providers.ownership import (
    Ownership,
    describeUnhandled,
)
from zuul_nodes.launcher.providers.quota import getSectionLimits, makeQuota
from zuul_nodes.launcher.providers.scope import (
    Scope,
    checkAddress,
    chooseProvider,
    getEntry,
    isFor,
    isGiven,
    isGivenAt,
    isMadeFrom,
)
from zuul_nodes.launcher.providers.sharedmachines import (
    USED_STATES,
    SharedMachines,
    getMachineId,
)
from zuul_nodes.launcher.providers.unreadable import Unreadable

__all__ = [
    'LOST',
    'USED_STATES',
    'Failure',
    'FormerProviders',
    'HandledEndpoints',
    'Layouts',
    'Lookups',
    'Names',
    'Ownership',
    'Scope',
    'SharedMachines',
    'Unreadable',
    'checkAddress',
    'chooseProvider',
    'classify',
    'describe',
    'describeUnhandled',
    'getAttempts',
    'getEntry',
    'getFailure',
    'getMachineId',
    'getSectionLimits',
    'hasFailed',
    'isFinalAnswer',
    'isFor',
    'isForGood',
    'isGiven',
    'isGivenAt',
    'isGone',
    'isMadeFrom',
    'makeQuota',
    'prepareDrivers',
]
