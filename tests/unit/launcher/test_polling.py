"""Waiting for sockets, as ``select.select`` does."""

import select
import socket

import pytest

from zuul_nodes.launcher.polling import poll


@pytest.fixture
def pair():
    sockets = socket.socketpair()
    yield sockets
    for each in sockets:
        each.close()


def fill(sender):
    sender.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            sender.send(bytes(65536))


@pytest.mark.parametrize('prepare', [
    lambda one, two: None,
    lambda one, two: two.send(b'x'),
    lambda one, two: two.close(),
    lambda one, two: fill(one),
    lambda one, two: (fill(one), two.send(b'x')),
    lambda one, two: (fill(one), two.close()),
], ids=['nothing', 'data', 'end', 'full', 'full, data', 'full, end'])
@pytest.mark.parametrize('read, write', [(1, 0), (0, 1), (1, 1)])
def test_the_same_sockets_are_ready(pair, prepare, read, write):
    one, two = pair
    prepare(one, two)
    asked = [one] * read, [one] * write, []
    assert poll(*asked, 0) == select.select(*asked, 0)


def test_several(pair):
    one, two = pair
    two.send(b'x')
    assert poll([one, two], [one, two], []) == ([one], [one, two], [])


def test_closed_socket(pair):
    one, _ = pair
    one.close()
    with pytest.raises(ValueError):
        poll([one], [], [], 0)
