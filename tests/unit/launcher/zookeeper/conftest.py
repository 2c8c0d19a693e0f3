"""What several tests of this room have."""

import pytest

from zuul_nodes.launcher.zookeeper.dispatch import installDispatch


@pytest.fixture
def client(client):
    """:return: a client that delivers messages in order."""
    installDispatch(client)
    return client
