"""What schedulers tell launchers of the images of a tenant."""

import dataclasses

from kazoo.exceptions import BadVersionError, NodeExistsError
import pytest

from tests.fixtures.pipelines import readImageLayout
from zuul_nodes import imagelayouts
from zuul_nodes.imagelayouts import ROOT, ImageLayout

LAYOUT = ImageLayout(
    layout_uuid='1234',
    pipelines={'image-build': ['build', 'periodic'], 'image-validate': [],
               'image-delete': [], 'image-built': ['build']},
    images={'example.com%2Fnodes/debian': {
        'name': 'debian', 'project': 'example.com/nodes', 'branch': 'main',
        'runs': {'image-build': ['build'], 'image-validate': [],
                 'image-delete': []}}})
EMPTY = ImageLayout(
    layout_uuid='5678',
    pipelines={name: [] for name in LAYOUT.pipelines}, images={})


@pytest.mark.parametrize('tenant', ['tenant', 'a b', 'a/b', 'ä%2F'])
def test_round_trip(kazoo_client, tenant):
    imagelayouts.publish(kazoo_client, tenant, LAYOUT)
    assert readImageLayout(kazoo_client, tenant) == LAYOUT
    assert len(kazoo_client.get_children(ROOT)) == 1


def test_nothing_there(kazoo_client):
    assert readImageLayout(kazoo_client, 'tenant') is None


def test_nothing_to_say(kazoo_client):
    """That is something to know."""
    imagelayouts.publish(kazoo_client, 'tenant', EMPTY)
    assert readImageLayout(kazoo_client, 'tenant') == EMPTY


def test_written_only_if_different(kazoo_client):
    path = imagelayouts.getPath('tenant')
    imagelayouts.publish(kazoo_client, 'tenant', LAYOUT)
    imagelayouts.publish(
        kazoo_client, 'tenant', dataclasses.replace(LAYOUT))
    assert kazoo_client.get(path)[1].version == 0
    other = dataclasses.replace(LAYOUT, layout_uuid='5678')
    imagelayouts.publish(kazoo_client, 'tenant', other)
    assert kazoo_client.get(path)[1].version == 1
    assert readImageLayout(kazoo_client, 'tenant') == other


@pytest.mark.parametrize('data', [
    b'', b'nonsense', b'[]', b'{}', b'\xff', b'null',
    b'{"layout_uuid": 1, "pipelines": {}, "images": {}, "broken": []}',
    b'{"layout_uuid": "1", "pipelines": [], "images": {}, "broken": []}'])
def test_record_that_can_not_be_read(kazoo_client, caplog, data):
    kazoo_client.create(imagelayouts.getPath('tenant'), data, makepath=True)
    assert readImageLayout(kazoo_client, 'tenant') is None
    assert 'Unable to read' in caplog.text
    imagelayouts.publish(kazoo_client, 'tenant', LAYOUT)
    assert readImageLayout(kazoo_client, 'tenant') == LAYOUT


def test_record_of_a_later_release():
    data = (b'{"layout_uuid": "1", "pipelines": {}, "images": {}, '
            b'"broken": [], "more": 1}')
    assert imagelayouts.parse(data) == ImageLayout('1', {}, {})


class Interfering:
    """A client; before each write, others do something.

    :ivar list others: what they do.
    """

    def __init__(self, client, others):
        self.client = client
        self.others = others

    def __getattr__(self, name):
        if name in ('create', 'set') and self.others:
            self.others.pop(0)()
        return getattr(self.client, name)


def test_others_write_at_the_same_time(kazoo_client):
    path = imagelayouts.getPath('tenant')
    client = Interfering(kazoo_client, [
        lambda: kazoo_client.create(path, b'other', makepath=True),
        lambda: kazoo_client.set(path, b'another'),
        lambda: kazoo_client.delete(path)])
    imagelayouts.publish(client, 'tenant', LAYOUT)
    assert client.others == []
    assert readImageLayout(kazoo_client, 'tenant') == LAYOUT


def test_others_write_all_the_time(kazoo_client):
    path = imagelayouts.getPath('tenant')
    kazoo_client.create(path, makepath=True)
    client = Interfering(
        kazoo_client, [lambda: kazoo_client.set(path, b'other')] * 100)
    with pytest.raises((BadVersionError, NodeExistsError)):
        imagelayouts.publish(client, 'tenant', LAYOUT)
