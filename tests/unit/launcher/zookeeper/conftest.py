"""What several tests of this room have."""

import pytest

from zuul_nodes.launcher.zookeeper import improve
from zuul_nodes.launcher.zookeeper.dispatch import installDispatch


@pytest.fixture
def client(zk_client):
    """:return: a client that delivers messages in order."""
    improve(zk_client.client)
    installDispatch(zk_client.client)
    return zk_client.client
