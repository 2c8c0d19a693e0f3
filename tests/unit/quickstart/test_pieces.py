"""The parts that other tests build their Zuul from."""

import pytest

from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.zookeeper import ZooKeeper

pytestmark = pytest.mark.services


def test_zookeeper(tmp_path):
    zookeeper = ZooKeeper(tmp_path / 'zookeeper',
                          Certificates(tmp_path / 'certificates'),
                          ports.freePort())
    zookeeper.start()
    try:
        client = zookeeper.client()
        client.start()
        client.create('/here', b'data')
        client.stop()
        client.close()
        # Its data survive a restart.
        zookeeper.stop()
        zookeeper.start()
        client = zookeeper.client()
        client.start()
        assert client.get('/here')[0] == b'data'
        client.stop()
        client.close()
    finally:
        zookeeper.stop()
    assert ports.isFree(zookeeper.port)
