"""Nothing but read locks is written to ZooKeeper."""

from kazoo.exceptions import NoNodeError
from kazoo.recipe.lock import ReadLock, WriteLock
import pytest

from zuul_nodes.cmd.common.readonly import ReadOnlyZooKeeper, WriteRefused


@pytest.fixture
def client(zuul_conf, empty_client):
    empty_client.create('/there', b'data')
    zookeeper = ReadOnlyZooKeeper.fromConfig(zuul_conf)
    zookeeper.connect(10)
    yield zookeeper.client
    zookeeper.disconnect()


def test_reading(client):
    assert client.get('/there')[0] == b'data'
    assert client.get_children('/') == ['there']


@pytest.mark.parametrize('write', [
    lambda client: client.create('/there/new'),
    lambda client: client.create('/there/new', ephemeral=True),
    lambda client: client.create('/there/__rlock__0'),
    lambda client: client.set('/there', b''),
    lambda client: client.delete('/there'),
    lambda client: client.delete('/there', recursive=True),
    lambda client: client.transaction(),
    lambda client: WriteLock(client, '/there').acquire(),
])
def test_writing(client, kazoo_client, write):
    with pytest.raises(WriteRefused):
        write(client)
    assert kazoo_client.get('/there')[0] == b'data'
    assert kazoo_client.get_children('/there') == []


def test_read_lock(client, kazoo_client):
    with ReadLock(client, '/there'):
        assert len(kazoo_client.get_children('/there')) == 1
    assert kazoo_client.get_children('/there') == []


def test_what_is_not_there_is_not_made(client, kazoo_client):
    client.ensure_path('/new/path')
    with pytest.raises(NoNodeError):
        ReadLock(client, '/new/path').acquire()
    with pytest.raises(NoNodeError):
        client.create('/new/__rlock__', ephemeral=True, makepath=True)
    assert kazoo_client.get_children('/') == ['there']
