"""What is read of tenants without asking anybody but ZooKeeper."""

from types import SimpleNamespace

import pytest
from zuul.connection import ReadOnlyBranchCacheError
from zuul.model import Project, Tenant, TenantProjectConfig
from zuul.zk import ZooKeeperClient
from zuul.zk.branch_cache_common import BranchFlag, BranchInfo
from zuul.zk.branch_cache_new import BranchCacheNew

from zuul_nodes.cmd.common.connections import Connections
from zuul_nodes.cmd.common.tenants import Tenants
from zuul_nodes.cmd.common.waiting import Waiting
from zuul_nodes.plugin.branchcaches import readBranches

CONNECTIONS = {
    'connection hub': {'driver': 'github'},
    'connection lab': {'driver': 'gitlab', 'api_token': '0'},
    'connection review': {'driver': 'gerrit', 'server': '127.0.0.1',
                          'user': 'zuul', 'password': '0'},
}


@pytest.fixture
def connections(zuul_conf, chroot):
    zuul_conf.read_dict(CONNECTIONS)
    return Connections(zuul_conf)


@pytest.fixture
def scheduler_client(zuul_conf, chroot):
    """What a scheduler would have."""
    client = ZooKeeperClient.fromConfig(zuul_conf)
    client.connect()
    yield client
    client.disconnect()


@pytest.mark.parametrize('name', ['hub', 'lab', 'review'])
def test_branches(zuul_conf, connections, scheduler_client, name):
    tenant = Tenant('tenant')
    source = SimpleNamespace(connection=connections.connections[name],
                             canonical_hostname='127.0.0.1')
    known, unknown = (Project(name, source) for name in ('known', 'unknown'))
    tenant.addTPC(tenantProject(known))
    tenant.addTPC(tenantProject(unknown))
    connection = connections.connections[name]
    BranchCacheNew(scheduler_client, connection, None).setProjectBranches(
        'known', BranchFlag.PRESENT, [BranchInfo('main', present=True)])
    tenants = Tenants(zuul_conf, connections, Waiting(10))
    tenants.zk_client.connect(10)
    try:
        readBranches(connection, tenants.zk_client)
        assert connection.getProjectBranches(known, tenant) == ['main']
        with pytest.raises(ReadOnlyBranchCacheError):
            connection.getProjectBranches(unknown, tenant)
    finally:
        tenants.close()


def tenantProject(project):
    tpc = TenantProjectConfig(project)
    tpc.trusted = False
    return tpc
