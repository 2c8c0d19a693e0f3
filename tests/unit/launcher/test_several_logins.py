"""Launchers of which clouds refuse some: the others do their work."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint
from zuul_nodes import withdrawals
from zuul_nodes.drivers import LoginError, PermanentError

State = ProviderNode.State

pytestmark = pytest.mark.crash


class HTTPError(Exception):
    status_code = 401


class NoCredentialsError(Exception):
    """As of a library that this launcher may not have."""


class Gate:
    """Refuses launchers, as a cloud does without valid credentials.

    :ivar dict errors: the connection of a launcher -> what its calls raise.
    :ivar set starts: connections whose endpoints do not even start.
    :ivar list asked: connections of which calls were refused.
    """

    def __init__(self, racks, monkeypatch):
        self.errors = {}
        self.starts = set()
        self.asked = []
        create, delete = racks.create, racks.delete
        listInstances = ShelfEndpoint.listInstances
        racks.create = lambda provider, node: (
            self.check(provider.connection), create(provider, node))
        racks.delete = lambda provider, node: (
            self.check(provider.connection), delete(provider, node))
        monkeypatch.setattr(ShelfEndpoint, 'listInstances', lambda endpoint: (
            self.check(endpoint.connection), listInstances(endpoint))[1])
        monkeypatch.setattr(ShelfEndpoint, 'startEndpoint', lambda endpoint:
                            self.check(endpoint.connection, self.starts))

    def check(self, connection, where=None):
        if connection in self.errors and (
                where is None or connection in where):
            self.asked.append(connection)
            raise self.errors[connection]

    def refuse(self, *launchers, error=None, starts=False):
        for launcher in launchers:
            connection = launcher.connections.connections['rack']
            self.errors[connection] = error or LoginError('wrong password')
            if starts:
                self.starts.add(connection)

    def admit(self, *launchers):
        for launcher in launchers:
            del self.errors[launcher.connections.connections['rack']]


@pytest.fixture
def gate(racks, monkeypatch):
    return Gate(racks, monkeypatch)


@pytest.fixture
def three(several):
    for name in ('first', 'second', 'third'):
        several.add(name)
    return several


def getWithdrawn(several):
    """:return: a list of the launchers that have withdrawn, as each launcher
        of the test knows it from ZooKeeper."""
    return [name for each in several.launchers[0].ownership.registry.all(
        'launcher') for name in [each.hostname]
        if withdrawals.read(each.content)]


def countFailures(several):
    launcher = several.launchers[0]
    return [node for request in launcher.api.getNodesetRequests()
            for node in request.provider_node_data
            if node.failed_providers]


refusals = pytest.mark.parametrize('error', [
    LoginError('wrong password'), HTTPError('unauthorized'),
    NoCredentialsError('none')], ids=lambda error: type(error).__name__)


@refusals
def test_refused_launchers_leave_their_share_to_one_that_can(
        three, racks, gate, error):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=1))
    gate.refuse(second, third, error=error)
    requests = [first.addRequest('big') for _ in range(12)]
    nodes = three.serve(*requests)
    assert len(nodes) == 12
    assert not countFailures(three)
    assert racks.created == ['one'] * 12
    three.runUntil(lambda: sorted(getWithdrawn(three)) == [
        'second', 'third'])
    # Deletions follow as well.
    three.endAll(racks)
