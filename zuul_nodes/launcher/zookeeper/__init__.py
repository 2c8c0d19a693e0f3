"""Reads, caches, locks and writes records in ZooKeeper.

This is the only room of the launcher that uses private names of Zuul's records
and of kazoo.
"""

from zuul_nodes.launcher.zookeeper.cache import (
    Builds,
    Entry,
    Interruptible,
    Uploads,
    sync,
)
from zuul_nodes.launcher.zookeeper.content import (
    UnwritableError,
    isSeen,
    serialize,
)
from zuul_nodes.launcher.zookeeper.disconnect import Disconnect
from zuul_nodes.launcher.zookeeper.names import Names
from zuul_nodes.launcher.zookeeper.newnodes import commitNew
from zuul_nodes.launcher.zookeeper.orders import Orders
from zuul_nodes.launcher.zookeeper.plannerrecords import PlannerRecords
from zuul_nodes.launcher.zookeeper.recordcache import Records
from zuul_nodes.launcher.zookeeper.replacements import (
    REPLACEMENTS,
    ImprovedClient,
)
from zuul_nodes.launcher.zookeeper.session import Session
from zuul_nodes.launcher.zookeeper.transaction import Conflict, refuse
from zuul_nodes.launcher.zookeeper.treewatch import TreeWatch
from zuul_nodes.launcher.zookeeper.zuulrecords import (
    decompress,
    getCreationTime,
    getLock,
    getPath,
    getVersion,
    hasExpired,
    inState,
    isProviderOfDriver,
    isWrittenAs,
    loadProvider,
    makeRecord,
    makeUploadPlanner,
    setAttributes,
    setContext,
    writeData,
)

__all__ = [
    'REPLACEMENTS',
    'Builds',
    'Conflict',
    'Disconnect',
    'Entry',
    'ImprovedClient',
    'Interruptible',
    'Names',
    'Orders',
    'PlannerRecords',
    'Records',
    'Session',
    'TreeWatch',
    'UnwritableError',
    'Uploads',
    'commitNew',
    'decompress',
    'getCreationTime',
    'getLock',
    'getPath',
    'getVersion',
    'hasExpired',
    'inState',
    'isProviderOfDriver',
    'isSeen',
    'isWrittenAs',
    'loadProvider',
    'makeRecord',
    'makeUploadPlanner',
    'refuse',
    'serialize',
    'setAttributes',
    'setContext',
    'sync',
    'writeData',
]
