"""What the last scheduler recorded; real records in test_service.py."""

import json
import zlib

import pytest

from zuul_nodes.plugin import records


@pytest.fixture
def record(kazoo_client):
    """:return: a function that writes a provider's record."""
    def write(provider, *shards):
        for shard in shards:
            kazoo_client.create(
                f'/zuul/tenant/tenant-one/provider/example.com%2Fnodes/'
                f'{provider}/config/', shard, sequence=True, makepath=True)
    return write


def compress(**content):
    return b'static\0' + zlib.compress(json.dumps(content).encode())


def test_nothing_recorded(zuul_conf):
    assert list(records.findProviders(zuul_conf)) == []


def test_records(zuul_conf, record):
    record('one+two', compress(connection_name='null'))
    data = compress(connection_name='cloud')
    record('large', data[:20], data[20:])
    assert list(records.findProviders(zuul_conf)) == [
        ('tenant-one', 'large', 'cloud'), ('tenant-one', 'one two', 'null')]


@pytest.mark.parametrize('data', [
    b'', b'static', b'static\0nonsense', compress()[:12], compress(),
    b'static\0' + zlib.compress(b'[]')])
def test_records_of_a_zuul_we_do_not_know(zuul_conf, record, data):
    record('bad', data)
    record('good', compress(connection_name='null'))
    assert list(records.findProviders(zuul_conf)) == [
        ('tenant-one', 'good', 'null')]


def test_no_zookeeper(zuul_conf, capfd):
    zuul_conf['zookeeper']['hosts'] = '127.0.0.1:1'
    assert list(records.findProviders(zuul_conf, 0.5)) == []
    assert capfd.readouterr().err == ''


def test_no_zookeeper_in_zuul_conf(zuul_conf):
    zuul_conf.remove_section('zookeeper')
    assert list(records.findProviders(zuul_conf)) == []
