"""What the cloud is asked once for all."""

import threading
import types

import pytest

from tests.unit.drivers.openstack.nodesites import addImage
from zuul_nodes.drivers import PermanentError, TemporaryError
from zuul_nodes.drivers.framework.memory import Memory
from zuul_nodes.drivers.openstack.cloud import pages

PATIENCE = 10


def test_answers_are_remembered():
    answers = iter('abc')
    known = Memory()

    def get():
        return known.get('key', lambda: next(answers), PATIENCE)
    assert [get(), get()] == ['a', 'a']
    known.clear()
    assert get() == 'b'
    known.lifetime = -1
    assert get() == 'c'


def test_errors_are_not():
    known = Memory()
    with pytest.raises(ZeroDivisionError):
        known.get('key', lambda: 1 / 0, PATIENCE)
    assert known.get('key', lambda: 1, PATIENCE) == 1


def test_who_asks_the_same_waits_for_the_answer():
    known = Memory()
    asked, go_on = threading.Event(), threading.Event()

    def ask():
        asked.set()
        go_on.wait(PATIENCE)
        return 'answer'
    thread = threading.Thread(
        target=lambda: known.get('key', ask, PATIENCE))
    thread.start()
    assert asked.wait(PATIENCE)
    with pytest.raises(TimeoutError):
        known.get('key', pytest.fail, 0)
    go_on.set()
    assert known.get('key', pytest.fail, PATIENCE) == 'answer'
    thread.join()


def test_newest_image(nodes, cloud):
    find = nodes.lookups.findImage
    assert find('debian-12', {})['id'] == 'new'
    addImage(cloud, 'private', '2026-01-01T00:00:00Z', visibility='private',
             owner=cloud.neutron.admin)
    nodes.lookups.forgetAnswers()
    assert find('debian-12', {})['id'] == 'private'
    assert find('debian-12', {'owner': 'us'})['id'] == 'new'
    with pytest.raises(PermanentError, match=r'the name "debian-12" and '
                                             'owner "them". There are none'):
        find('debian-12', {'owner': 'them'})


def test_several_of_a_name(nodes, cloud):
    networks = [cloud.neutron.addNetwork('twice', f'127.{number}.0.0/16')
                for number in (10, 11)]
    with pytest.raises(PermanentError, match=r'2 networks .* one of their id'):
        nodes.lookups.getNetwork('twice')
    for network in networks:
        assert nodes.lookups.getNetwork(network['id'])['name'] == 'twice'


def test_many_servers(nodes, cloud):
    cloud.nova.limit = 2
    made = [nodes.makeNode() for _ in range(5)]
    for node in made:
        nodes.create(node)
    listed = [each.id for each in nodes.adapter.listInstances()]
    assert sorted(listed) == sorted(cloud.nova.servers)


def test_list_without_an_end():
    page = types.SimpleNamespace(status_code=200, json=lambda: {
        'servers': [1], 'servers_links': [
            {'rel': 'next', 'href': 'http://cloud/servers?marker=1'}]})
    proxy = types.SimpleNamespace(get=lambda *args, **kwargs: page)
    with pytest.raises(TemporaryError, match='never ends'):
        list(pages.getPages(proxy, '/servers', 'servers'))
