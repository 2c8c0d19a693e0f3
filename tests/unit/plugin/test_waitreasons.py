"""zuul-web tells why requests wait."""

import types

import pytest

from zuul_nodes import waits
from zuul_nodes.plugin.waitreasons import wrapTellRequests


@pytest.fixture
def tell(kazoo_client):
    """:return: a function that returns what the API says of a tenant."""
    def tellRequests(self, tenant_name, tenant, auth):
        return [{'uuid': name, 'state': state} for name, state in (
            ('first', 'requested'), ('second', 'requested'),
            ('running', 'fulfilled'), ('new', 'requested'))]
    web = types.SimpleNamespace(zuulweb=types.SimpleNamespace(
        zk_client=types.SimpleNamespace(client=kazoo_client)))
    wrapped = wrapTellRequests(tellRequests, None)
    return lambda name: {
        request['uuid']: (request['wait_reason'], request['wait_ahead'])
        for request in wrapped(
            web, name, types.SimpleNamespace(name=name), None)}


def test_requests_have_reasons_of_their_tenant(tell, kazoo_client):
    kazoo_client.create(waits.getPath('tenant'), waits.makeRecord([
        ('it is full', ['first', 'second', 'running'])]), makepath=True)
    nothing = None, None
    assert tell('tenant') == {
        'first': ('it is full', 0), 'second': ('it is full', 1),
        'running': nothing, 'new': nothing}
    assert set(tell('other').values()) == {nothing}


def test_unreadable_record_hides_no_request(tell, kazoo_client):
    kazoo_client.create(waits.getPath('tenant'), b'?', makepath=True)
    assert set(tell('tenant').values()) == {(None, None)}
