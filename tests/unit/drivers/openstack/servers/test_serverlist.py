"""Lists of servers, of which only the changes are asked for."""

import types

import pytest

from zuul_nodes.drivers.openstack.servers import serverlist

OLD = '2020-01-01T00:00:00Z'
DETAIL = '/compute/v2.1/servers/detail'


@pytest.fixture
def clock(nodes):
    """:return: an object that has the time in seconds, ``now``."""
    clock = types.SimpleNamespace(now=0.0)
    nodes.adapter.servers.clock = lambda: clock.now
    nodes.adapter.servers._last = None
    return clock


@pytest.fixture
def queries(nodes, cloud, monkeypatch):
    """:return: a list of what Nova was asked for with, each list's."""
    found = []
    list_servers = cloud.nova.listServers

    def listServers(request):
        found.append({name: values for name, values in request.query.items()
                      if name == 'changes-since'})
        return list_servers(request)
    monkeypatch.setattr(cloud.nova, 'routes', [
        (*route, listServers if function == list_servers else function)
        for *route, function in cloud.nova.routes])
    return found


def getIDs(nodes):
    return {instance.id for instance in nodes.adapter.listInstances()}


def makeServers(nodes, cloud, number):
    """:return: ids of servers that have not changed for long."""
    made = [nodes.makeNode() for _ in range(number)]
    for node in made:
        nodes.create(node)
    for server in nodes.servers:
        server['updated'] = OLD
    return [node.openstack_server_id for node in made]


def test_changes_are_asked_for_and_the_rest_is_known(
        nodes, cloud, clock, queries):
    first, second, third = makeServers(nodes, cloud, 3)
    del queries[:]
    nodes.adapter.servers._last = None
    assert getIDs(nodes) == {first, second, third}
    assert queries == [{}]
    nodes.adapter.deleteInstance(second)
    cloud.nova.finish(second)
    node = nodes.makeNode()
    nodes.create(node)
    assert getIDs(nodes) == {first, third, node.openstack_server_id}
    assert all('changes-since' in query for query in queries[1:])
    # A list of changes has neither of those that have not changed.
    shown = nodes.adapter.client.compute.get(
        DETAIL.removeprefix('/compute/v2.1'),
        params=queries[-1]).json()['servers']
    assert {each['id']: each['status'] for each in shown} == {
        second: 'DELETED', node.openstack_server_id: 'ACTIVE'}


def test_whole_list_from_time_to_time(nodes, cloud, clock, queries):
    server_id, = makeServers(nodes, cloud, 1)
    del queries[:]
    nodes.adapter.servers._last = None
    getIDs(nodes)
    # Nova has forgotten that there ever was such a server.
    del cloud.nova.servers[server_id]
    clock.now = serverlist.WHOLE - 1
    assert getIDs(nodes) == {server_id}
    clock.now = serverlist.WHOLE + 1
    assert not getIDs(nodes)
    assert [bool(query) for query in queries] == [False, True, False]


def test_cloud_that_lists_no_changes(nodes, cloud, clock, queries):
    server_id, = makeServers(nodes, cloud, 1)
    cloud.inject('GET', DETAIL, 400, 'No changes-since')
    for _ in range(2):
        assert getIDs(nodes) == {server_id}
    assert not nodes.adapter.servers._knows_changes
    assert queries[-2:] == [{}, {}]


def test_list_that_is_late_takes_nothing_back(nodes, cloud):
    lists = nodes.adapter.servers
    late = serverlist.Snapshot({}, lists.clock(), 0.0, None)
    nodes.create(nodes.makeNode())
    newest = lists._last
    assert lists._keep(late) == []
    assert lists._last is newest


def test_cloud_that_does_not_tell_the_time(nodes, clock, queries):
    last = serverlist.Snapshot({}, 0.0, 0.0, None)
    nodes.adapter.servers._last = last
    assert not getIDs(nodes)
    assert queries == [{}]


@pytest.mark.parametrize('date', [None, 'yesterday'])
def test_date_that_is_none(date):
    headers = {} if date is None else {'Date': date}
    assert serverlist._getDate(types.SimpleNamespace(headers=headers)) is None


def test_pages_of_changes(nodes, cloud, clock, queries):
    cloud.nova.limit = 2
    nodes.adapter.listInstances()
    made = makeServers(nodes, cloud, 0) + [
        node.openstack_server_id for node in (
            nodes.create(each).node for each in (
                nodes.makeNode() for _ in range(5)))]
    assert getIDs(nodes) == set(made)
    assert queries[-1].keys() == {'changes-since'}
