"""Knows the providers, the launchers that handle them, and the meaning of
their errors."""

from zuul_nodes.launcher.providers.failures import (
    Failure,
    classify,
    countFailed,
    describe,
    getAttempts,
    getFailure,
    getLauncher,
    hasFailed,
    isFinalAnswer,
    isForGood,
    isGone,
    isLoginRefused,
)
from zuul_nodes.launcher.providers.former import FormerProviders
from zuul_nodes.launcher.providers.handled import HandledEndpoints
from zuul_nodes.launcher.providers.identity import (
    WIDTHS,
    Account,
    Identity,
    Subject,
    getAccounts,
    getEntry,
    getIdentity,
    getMachineId,
    getPlace,
    getPlaceOf,
    getSubject,
    getSubjectOf,
    hasEntry,
    identify,
    isGiven,
    isMadeFrom,
)
from zuul_nodes.launcher.providers.layouts import LOST, Layouts
from zuul_nodes.launcher.providers.lookups import Lookups
from zuul_nodes.launcher.providers.names import Names
from zuul_nodes.launcher.providers.operators import prepareDrivers, shareRates
from zuul_nodes.launcher.providers.ownership import (
    Ownership,
    describeUnhandled,
)
from zuul_nodes.launcher.providers.quota import getSectionLimits, makeQuota
from zuul_nodes.launcher.providers.scope import (
    MovedError,
    Scope,
    checkAddress,
    isGivenAt,
)
from zuul_nodes.launcher.providers.sharedmachines import (
    USED_STATES,
    SharedMachines,
)
from zuul_nodes.launcher.providers.unreadable import Unreadable

__all__ = [
    'LOST',
    'USED_STATES',
    'WIDTHS',
    'Account',
    'Failure',
    'FormerProviders',
    'HandledEndpoints',
    'Identity',
    'Layouts',
    'Lookups',
    'MovedError',
    'Names',
    'Ownership',
    'Scope',
    'SharedMachines',
    'Subject',
    'Unreadable',
    'checkAddress',
    'classify',
    'countFailed',
    'describe',
    'describeUnhandled',
    'getAccounts',
    'getAttempts',
    'getEntry',
    'getFailure',
    'getIdentity',
    'getLauncher',
    'getMachineId',
    'getPlace',
    'getPlaceOf',
    'getSectionLimits',
    'getSubject',
    'getSubjectOf',
    'hasEntry',
    'hasFailed',
    'identify',
    'isFinalAnswer',
    'isForGood',
    'isGiven',
    'isGivenAt',
    'isGone',
    'isLoginRefused',
    'isMadeFrom',
    'makeQuota',
    'prepareDrivers',
    'shareRates',
]
