"""What ``zuul-nodes leaks`` shows."""

import functools
import json
import time

import pytest

from tests.unit.cmd.conftest import getRows, getShown
from zuul_nodes import leakrecords, zkrecords


@pytest.fixture
def leaks(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'leaks')


@pytest.fixture
def record(zk_client):
    """:return: a function that records the suspects of an endpoint."""
    def write(endpoint_name, *suspects):
        zkrecords.write(
            zk_client.client, leakrecords.getPath(endpoint_name),
            leakrecords.makeRecord({
                'type': 'instance', 'id': 'i-1', 'node': 'ab12'.ljust(32, '0'),
                'upload': None, 'since': time.time() - 130, 'attempts': 0,
                'error': None} | each for each in suspects))
    return write


def test_the_oldest_comes_first(leaks, record):
    record('rack/a', {})
    record('rack/b', {
        'type': 'image', 'id': 'ami-1', 'node': None,
        'upload': 'cd34'.ljust(32, '0'), 'since': time.time() - 7300,
        'attempts': 3, 'error': 'it is in use'}, {'id': 'x', 'node': None})
    text = leaks()
    assert getRows(text) == [
        ['rack/b', 'image', 'ami-1', 'upload cd340000', '2 h', '3',
         'it is in use'],
        ['rack/a', 'instance', 'i-1', 'node ab120000', '2 min', '0', '-'],
        ['rack/b', 'instance', 'x', '-', '2 min', '0', '-']]
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize('arguments', [
    ('--endpoint', 'rack/b'), ('--type', 'image'), ('--older-than', '1h')])
def test_filters(leaks, record, arguments):
    record('rack/a', {})
    record('rack/b', {'type': 'image', 'id': 'wanted',
                      'since': time.time() - 4000})
    assert [each['id'] for each in json.loads(leaks(
        '--format', 'json', *arguments))] == ['wanted']


def test_it_prints_what_the_documentation_shows(leaks, record):
    record('west/region', {'attempts': 2, 'error': 'the server is locked',
                           'id': '9f31', 'since': time.time() - 400})
    assert leaks().splitlines() == getShown(
        'howto/watch-providers.rst', 'zuul-nodes leaks')
