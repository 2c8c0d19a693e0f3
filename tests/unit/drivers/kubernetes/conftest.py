import pytest
from zuul.zk import ZooKeeperClient

from tests.unit.drivers.kubernetes.apiserver import ApiServer
from tests.unit.drivers.kubernetes.sites import Site


@pytest.fixture
def cluster():
    server = ApiServer()
    yield server
    server.end()


@pytest.fixture
def zk_client(zuul_conf):
    client = ZooKeeperClient.fromConfig(zuul_conf)
    client.connect()
    yield client
    client.disconnect()


@pytest.fixture
def makeSite(zk_client, cluster, tmp_path):
    """:return: a function that makes a :class:`Site`."""
    sites = []
    kubeconfig = cluster.writeConfig(tmp_path / 'kubeconfig')

    def make(label='kind: pod', image='image-id: debian', **options):
        sites.append(Site(zk_client, label, image, {
            'kubeconfig_file': kubeconfig, **options}))
        return sites[-1]
    yield make
    for site in sites:
        site.end()
