"""What a person can put right is told in one line, and nothing is begun."""

import os
import pathlib
import shutil
import socket
import types

import pytest

from zuul_nodes.quickstart import preflight
from zuul_nodes.quickstart.quickstart import Quickstart


@pytest.fixture
def quickstart(zuulNodes, tmp_path):
    """Run it in a directory that does not exist yet, and expect a refusal.

    :return: a function of the arguments; gives the line.
    """
    directory = tmp_path / 'state'

    def run(*arguments, **environ):
        completed = zuulNodes('quickstart', '--directory', directory,
                              *arguments, **environ)
        assert completed.returncode == 1
        line, = completed.stderr.splitlines()
        assert line.startswith('zuul-nodes quickstart: ')
        assert not directory.exists()
        return line
    return run


def test_port_taken(quickstart):
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        line = quickstart('--web-port', str(port))
    assert f'port {port} on 127.0.0.1 is in use' in line
    assert '--web-port' in line


@pytest.mark.parametrize('missing', ['java', 'git', 'bwrap', 'ssh-agent'])
def test_program_missing(quickstart, tmp_path, missing):
    programs = tmp_path / 'bin'
    programs.mkdir()
    for program in preflight.PROGRAMS:
        if program != missing:
            os.symlink(preflight.findProgram(program), programs / program)
    line = quickstart(PATH=str(programs))
    assert f'{missing} is missing' in line
    assert f'apt-get install {preflight.PROGRAMS[missing]}' in line


def test_not_writable(zuulNodes, tmp_path):
    file = tmp_path / 'file'
    file.touch()
    for directory in ('/proc/quickstart', file / 'state'):
        completed = zuulNodes('quickstart', '--directory', directory)
        assert completed.returncode == 1
        line, = completed.stderr.splitlines()
        assert f'cannot write to {directory}' in line
        assert '--directory' in line


def test_somebody_elses_directory(zuulNodes, tmp_path):
    (tmp_path / 'thesis.tex').touch()
    completed = zuulNodes('quickstart', '--directory', tmp_path)
    assert completed.returncode == 1
    assert f'{tmp_path} has other contents' in completed.stderr
    assert os.listdir(tmp_path) == ['thesis.tex']


@pytest.mark.parametrize('port', ['0', '65536', 'web'])
def test_no_port_number(zuulNodes, port):
    completed = zuulNodes('quickstart', '--web-port', port)
    assert completed.returncode == 2
    assert '--web-port' in completed.stderr


@pytest.mark.parametrize('action', ['status', 'stop'])
def test_nothing_runs(quickstart, tmp_path, action):
    assert quickstart(action) == (
        'zuul-nodes quickstart: no quickstart is running in '
        f'{tmp_path / "state"}')


def test_help(zuulNodes):
    completed = zuulNodes('quickstart', '--help')
    assert completed.returncode == 0
    for option in ('status', 'stop', '--directory', '--web-port', '--keep',
                   '--format'):
        assert option in completed.stdout


def test_address_of_the_page_of_the_tenant_is_printed(tmp_path):
    quickstart = Quickstart(tmp_path / 'state')
    quickstart.settings = types.SimpleNamespace(
        web_url='http://127.0.0.1:9000')
    assert quickstart.urls({'uuid': 'a', 'log_url': 'b'})[
        'Nodes of the tenant'] == (
            'http://127.0.0.1:9000/zuul-nodes/t/quickstart/')


def test_java_without_zookeeper(monkeypatch):
    monkeypatch.setattr(preflight, 'JAR_DIRECTORY', pathlib.Path('/nowhere'))
    with pytest.raises(preflight.UserError, match='libzookeeper-java'):
        preflight.checkPrograms()


def test_a_file_that_the_executor_needs(monkeypatch):
    monkeypatch.setattr(preflight, 'FILES', ('/nowhere/hosts',))
    with pytest.raises(preflight.UserError, match='/nowhere/hosts is missi'):
        preflight.checkFiles()


def test_not_linux(monkeypatch):
    monkeypatch.setattr(preflight.sys, 'platform', 'darwin')
    with pytest.raises(preflight.UserError, match='needs Linux'):
        preflight.checkPlatform()


def test_servers_are_found_outside_of_the_path(monkeypatch):
    monkeypatch.setenv('PATH', '/usr/bin')
    assert preflight.findProgram('sshd') == shutil.which(
        'sshd', path='/usr/sbin:/sbin')
