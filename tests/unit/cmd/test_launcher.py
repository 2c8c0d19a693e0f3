"""The launcher looks after the connections that it is told to."""

import configparser
import json
import queue
import subprocess

import pytest

from tests.fixtures.programs import getRefusal, writeConf
from tests.unit.configloader.tenant import enter
from zuul_nodes.cmd.launcher import filterConnections
from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart.quickstart import Quickstart

CONNECTIONS = '''
[connection west]
driver=aws
[connection "50%"]
driver=aws
[connection git]
driver=git
baseurl=https://example.com
[smtp]
server=localhost
'''


@pytest.fixture
def seams(monkeypatch):
    enter(monkeypatch)


@pytest.fixture
def configured(seams):
    """:return: a function of what [launcher] has, if it is there, and of
        the arguments; gives what the launcher reads."""
    def run(option=None, names=None):
        config = configparser.ConfigParser()
        config.read_string(CONNECTIONS)
        if option is not None:
            config.read_dict({'launcher': {'connection_filter': option}})
        filterConnections(config, names)
        return config.get('launcher', 'connection_filter', fallback=None)
    return run


@pytest.mark.parametrize('option, names, expected', [
    (None, None, None),
    ('', None, ''),
    ('west', None, 'west'),
    (' west , null', None, 'west,null'),
    (None, ['west'], 'west'),
    (None, ['west', 'null', 'west'], 'west,null'),
    (None, ['west,null'], 'west,null'),
    (None, ['50%'], '50%'),
    # The arguments count, whatever zuul.conf has.
    ('west', ['null'], 'null'),
    ('nowhere', ['null'], 'null'),
])
def test_connection_filter_is_that_of_arguments_or_zuul_conf(
        configured, option, names, expected):
    assert configured(option, names) == expected


@pytest.mark.parametrize('option, names, expected', [
    (None, ['nowhere'], '--connection: there is no connection "nowhere" '
     'that has nodes. There are: "50%", "null", "west"'),
    (None, ['null', 'wets'], '"wets" that has nodes. Did you mean "west"?'),
    (None, [''], 'there is no connection ""'),
    # It is there, but for other things.
    (None, ['git'], 'there is no connection "git" that has nodes'),
    (None, ['smtp'], 'there is no connection "smtp" that has nodes'),
    ('wets', None, 'zuul.conf: "connection_filter" in [launcher]: there is '
     'no connection "wets" that has nodes. Did you mean "west"?'),
    ('west,', None, 'there is no connection ""'),
])
def test_no_such_connection(configured, option, names, expected):
    with pytest.raises(UserError) as caught:
        configured(option, names)
    assert expected in str(caught.value)


def test_launcher_refuses_a_connection_of_unknown_driver(seams):
    config = configparser.ConfigParser()
    config.read_string('[connection west]\ndriver=wets\n')
    with pytest.raises(UserError, match=r'zuul\.conf: Unknown driver, wets'):
        filterConnections(config, ['west'])


@pytest.fixture
def launch(zuulNodes, configure):
    def run(*arguments, **options):
        return zuulNodes('launcher', '-c', configure(**options), *arguments)
    return run


@pytest.fixture
def configure(zuul_conf, tmp_path):
    """:return: a function that writes zuul.conf, and gives its path."""
    def write(**options):
        zuul_conf.read_dict({'launcher': {
            'command_socket': tmp_path / 'launcher.socket',
            'pidfile': tmp_path / 'launcher.pid',
            'temp_dir': tmp_path, **options}})
        return writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return write


def test_launcher_registers_its_connection_filter(configure, kazoo_client):
    path = '/zuul/components/launcher'
    kazoo_client.ensure_path(path)
    names = queue.Queue()
    kazoo_client.ChildrenWatch(
        path, lambda children: [names.put(name) for name in children])
    process = subprocess.Popen([
        Quickstart.program('zuul-nodes'), 'launcher', '-f', '-c', configure(),
        '--connection', 'null'])
    try:
        data, _ = kazoo_client.get(f'{path}/{names.get(timeout=200)}')
    finally:
        process.terminate()
        process.wait(200)
    assert json.loads(data)['connection_filter'] == ['null']


@pytest.mark.parametrize('arguments, options', [
    (['--connection', 'null', '--connection', 'nul'], {}),
    ([], {'connection_filter': 'null,nul'}),
])
def test_launcher_refuses_unknown_connections(
        launch, arguments, options, empty_client):
    line = getRefusal(launch(*arguments, **options))
    assert line.startswith('zuul-nodes launcher: ')
    assert 'Did you mean "null"?' in line
    assert empty_client.get_children('/') == []


def test_launcher_refuses_an_invalid_setting(launch, empty_client):
    line = getRefusal(launch(endpoint_workers='0'))
    assert line == (
        'zuul-nodes launcher: zuul.conf: "endpoint_workers" in [launcher] is '
        '"0"; it must be a whole number of threads, at least 1, '
        'at most 1000')
    assert empty_client.get_children('/') == []


def test_a_running_launcher_is_stopped_whatever_is_configured(launch):
    line = getRefusal(launch('stop', connection_filter='nul'))
    assert 'no launcher listens' in line


def test_help(zuulNodes):
    result = zuulNodes('launcher', '--help')
    assert '--connection NAME' in result.stdout
