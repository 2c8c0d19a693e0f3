from concurrent import futures
import os
import sys

import pytest

from tests.fixtures.checkruns import NODES
from tests.fixtures.programs import getRefusal, writeConf
import zuul_nodes
from zuul_nodes import cmd


def test_help_names_every_subcommand(zuulNodes):
    result = zuulNodes('--help')
    assert result.returncode == 0
    for name in ('check', 'dib-test', 'doctor', 'explain', 'images',
                 'labels', 'launcher', 'launchers', 'leaks', 'migrate',
                 'new-driver',
                 'nodes', 'providers', 'quickstart', 'requests', 'run',
                 'tenants', 'uploads'):
        assert name in result.stdout
        help_of_one = zuulNodes(name, '--help')
        assert help_of_one.returncode == 0
        assert f'zuul-nodes {name}' in help_of_one.stdout


def test_help_does_not_import_zuul(runProgramAfresh):
    result = runProgramAfresh('cook', '''
import sys
from zuul_nodes import cmd
try:
    cmd.main(['--help'])
finally:
    print([name for name in sys.modules if name.startswith('zuul.')])
''')
    assert result.stdout.endswith('[]\n')


@pytest.mark.parametrize('arguments', [(), ('sing',), ('doctor', 'sing')])
def test_wrong_usage(zuulNodes, arguments):
    assert zuulNodes(*arguments).returncode == 2


def test_reader_of_the_output_that_is_gone(tmp_path, monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, 'w') as output:
        monkeypatch.setattr(sys, 'stdout', output)
        assert cmd.main(['new-driver', 'acme', '--directory',
                         str(tmp_path)]) == 1
        output.flush()


def test_other_pipes_that_are_broken(tmp_path, monkeypatch):
    monkeypatch.setattr('zuul_nodes.cmd.newdriver.run', lambda args: (
        (_ for _ in ()).throw(BrokenPipeError)))
    with pytest.raises(BrokenPipeError):
        cmd.main(['new-driver', 'acme'])


def test_version_is_that_of_the_package(zuulNodes):
    result = zuulNodes('--version')
    assert (result.returncode, result.stdout) == (
        0, f'zuul-nodes {zuul_nodes.__version__}\n')


def test_run_calls_zuuls_command(zuulNodes):
    result = zuulNodes('run', 'zuul-scheduler', '--version')
    assert (result.returncode, result.stdout) == (
        0, 'Zuul version: 14.3.0\n')


def test_run_installs_the_plugin(zuulNodes, tmp_path):
    # The start-up file is not what does it here.
    for option in ('tls_cert', 'tls_key', 'tls_ca'):
        tmp_path.joinpath(option).touch()
    tmp_path.joinpath('zuul.conf').write_text(f'''
[zookeeper]
hosts=127.0.0.1:1
tls_cert={tmp_path}/tls_cert
tls_key={tmp_path}/tls_key
tls_ca={tmp_path}/tls_ca
[connection null]
driver=kubernetes
''')
    result = zuulNodes('run', 'zuul-launcher', '-f',
                       '-c', str(tmp_path / 'zuul.conf'))
    assert 'that name belongs to the driver static' in result.stderr


@pytest.mark.parametrize('arguments, expected', [
    ('zuul-bwrap --help', 'usage: '),
    # They need no ZooKeeper, or no zuul.conf.
    ('zuul-manage-ansible -h', 'usage: '),
    ('zuul-admin -c /no/zuul.conf --version', 'Zuul version: 14.'),
])
def test_run_leaves_arguments_alone(zuulNodes, arguments, expected):
    result = zuulNodes('run', *arguments.split())
    assert result.returncode == 0, result.stderr
    assert expected in result.stdout


def test_run_warns_when_the_plugin_is_switched_off(zuulNodes):
    result = zuulNodes('run', 'zuul-web', '--version',
                       ZUUL_NODES_DISABLE='1')
    assert result.returncode == 0
    assert 'ZUUL_NODES_DISABLE disables zuul-nodes' in result.stderr


def test_run_refuses_a_command_that_is_not_zuuls(zuulNodes):
    result = zuulNodes('run', 'zuul-sheduler')
    line = getRefusal(result)
    assert '"zuul-sheduler" is not one of the commands of Zuul' in line
    assert 'zuul-scheduler' in line


def test_launcher_stop_where_none_runs(zuulNodes, zuul_conf, tmp_path):
    socket = tmp_path / 'launcher.socket'
    zuul_conf.read_dict({'launcher': {'command_socket': socket}})
    result = zuulNodes('launcher', 'stop', '-c',
                       writeConf(zuul_conf, tmp_path / 'zuul.conf'))
    line = getRefusal(result)
    assert f'no launcher listens at {socket}' in line


@pytest.mark.parametrize('section, option, value, expected', [
    ('launcher', 'command_socket', '/no/launcher.socket',
     'zuul.conf: "command_socket" in [launcher] is /no/launcher.socket, but '
     '/no is not a writable directory'),
    ('launcher', 'pidfile', '/no/launcher.pid',
     '/no is not a writable directory'),
])
def test_launcher_refuses_a_directory_that_is_not_there(
        zuulNodes, zuul_conf, tmp_path, section, option, value, expected):
    zuul_conf.read_dict({'launcher': {
        'command_socket': tmp_path / 'launcher.socket',
        'pidfile': tmp_path / 'launcher.pid',
        option: value}})
    result = zuulNodes('launcher', '-c',
                       writeConf(zuul_conf, tmp_path / 'zuul.conf'))
    line = getRefusal(result)
    assert expected in line


@pytest.mark.parametrize('conf, expected', [
    (None, 'there is no file'),
    ('[zookeeper', 'cannot read zuul.conf'),
    ('', 'name your zuul.conf with -c'),
    ('[scheduler]\n', 'has no "hosts" in [zookeeper]'),
    ('[zookeeper]\nhosts=127.0.0.1\n', 'has no "tls_cert" in [zookeeper]'),
    ('[zookeeper]\nhosts=127.0.0.1\ntls_cert=/no/cert\ntls_key=/no/key\n'
     'tls_ca=/no/ca\n', '/no/cert, which cannot be read'),
])
@pytest.mark.parametrize('command', ['launcher', 'run zuul-scheduler'])
def test_bad_zuul_conf(zuulNodes, tmp_path, command, conf, expected):
    path = tmp_path / 'zuul.conf'
    if conf is not None:
        path.write_text(conf)
    result = zuulNodes(*command.split(), '-f', '-c', str(path))
    line = getRefusal(result)
    assert line.startswith(f'zuul-nodes {command.split()[0]}: ')
    assert expected in line


def test_commands_end_soon_if_zookeeper_does_not_answer(
        zuulNodes, zuul_conf, tmp_path):
    """Each waits for some seconds, so they wait together; the modules of
    explain and migrate have tests of their own."""
    zuul_conf.set('zookeeper', 'hosts', 'localhost:1')
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')

    def run(command):
        name, *arguments = command.split()
        result = zuulNodes(name, '-c', path, *arguments)
        return (result.returncode, result.stdout,
                result.stderr.splitlines()[-1])
    commands = ['images', 'images pause debian', 'labels', 'launchers',
                'leaks', 'nodes', 'nodes hold abcd', 'providers', 'requests',
                'tenants', 'uploads']
    with futures.ThreadPoolExecutor(len(commands)) as pool:
        results = dict(zip(commands, pool.map(run, commands), strict=True))
    for command, (status, printed, line) in results.items():
        assert (status, printed) == (1, ''), command
        assert ('ZooKeeper does not answer at localhost:1 within 4 s'
                in line), command


@pytest.mark.parametrize('name, message', [
    ('dib-image-list', '"dib-image-list" is a command of Nodepool. Did you '
                       'mean "images list"?'),
    ('erase', '"erase" is a command of Nodepool. Did you mean "providers '
              'erase"?'),
    ('provider', 'there is no command "provider". Did you mean "providers"?')])
def test_command_that_there_is_not(zuulNodes, name, message):
    result = zuulNodes(name, '--help')
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr.splitlines()[-1].endswith(f'error: {message}')


@pytest.mark.parametrize('name', cmd.FORMER)
def test_what_takes_the_place_of_a_command_of_nodepool(name, capsys):
    with pytest.raises(SystemExit) as end:
        cmd.main([*cmd.FORMER[name].split(), '--help'])
    assert end.value.code == 0
    assert f'usage: zuul-nodes {cmd.FORMER[name]}' in capsys.readouterr().out


@pytest.mark.parametrize('name', [
    'images', 'labels', 'launchers', 'leaks', 'nodes', 'providers',
    'requests', 'tenants', 'uploads'])
def test_lists_do_not_import_what_takes_long(runProgramAfresh, name):
    """Zuul's model and scheduler, drivers and the libraries of clouds."""
    result = runProgramAfresh('cook', f'''
import sys
from zuul_nodes import cmd
status = cmd.main([{name!r}, '-c', '/no/zuul.conf'])
from zuul_nodes.cmd.common import readonly, zkobjects
print(status, sorted(name for name in sys.modules if name in (
    'zuul.model', 'zuul.scheduler', 'zuul.lib.ansible', 'ansible', 'boto3',
    'openstack', 'kubernetes', 'google.cloud', 'zuul_nodes.launcher',
    'zuul_nodes.drivers', 'sqlalchemy', 'git')))
''')
    assert result.stdout.splitlines()[-1] == '1 []'


# Zuul's services, and the libraries of clouds and code review systems.
LONG_TO_IMPORT = (
    'zuul.lib.connections', 'zuul.scheduler', 'zuul.web',
    'zuul.executor.client', 'zuul.launcher.server', 'zuul.merger.merger',
    'zuul_nodes.launcher', 'azure', 'boto3', 'elasticsearch', 'git',
    'github3', 'google.cloud', 'kubernetes', 'openstack', 'sqlalchemy')


@pytest.fixture
def findImported(runProgramAfresh, zuul_conf, tmp_path, empty_client):
    """Run a command with two connections: to a cloud of the driver "fake", and
    another.

    :return: a function of the driver of the other, and the arguments; gives
        the completed process, and which of the modules that take long the
        command has imported.
    """
    def run(driver, *arguments):
        zuul_conf.read_dict({'connection fake': {'driver': 'fake'},
                             'connection other': {'driver': driver}})
        path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
        result = runProgramAfresh('cook', f'''
import atexit, sys
from zuul_nodes import cmd
atexit.register(lambda: print(*(
    name for name in {LONG_TO_IMPORT} if name in sys.modules)))
sys.exit(cmd.main(sys.argv[1:]))
''', *arguments[:1], '-c', path, *arguments[1:])
        return result, result.stdout.splitlines()[-1].split()
    return run


@pytest.mark.parametrize(('driver', 'modules'), [
    ('static', []), ('aws', ['boto3'])])
def test_explain_imports_only_drivers_that_zuul_conf_names(
        findImported, driver, modules):
    result, imported = findImported(driver, 'explain', 'cloud', 'debian')
    assert 'no scheduler has run there yet' in result.stderr
    assert imported == modules


def test_check_imports_only_drivers_that_zuul_conf_names(
        findImported, tmp_path):
    path = tmp_path / 'nodes.yaml'
    path.write_text(NODES.replace('IMAGE', 'any').replace('ZONE', 'a'))
    result, imported = findImported('static', 'check', path)
    assert 'No problems: ' in result.stdout
    assert imported == []


def test_changes_of_images_do_not_import_the_launcher(runProgramAfresh):
    result = runProgramAfresh('cook', '''
import sys
from zuul_nodes.cmd.images import changes
print(sorted(name for name in sys.modules if name in (
    'zuul.scheduler', 'zuul_nodes.launcher', 'zuul_nodes.drivers')))
''')
    assert result.stdout == '[]\n'


@pytest.mark.parametrize('line, expected', [
    ('zuul-nodes prov', {'providers'}),
    ('zuul-nodes providers er', {'erase'}),
    ('zuul-nodes providers list --p', {'--paused'}),
    ('zuul-nodes uploads --state u', {'uploading'})])
def test_shells_complete_commands(zuulNodes, tmp_path, line, expected):
    answer = tmp_path / 'answer'
    zuulNodes(_ARGCOMPLETE='1', COMP_LINE=line, COMP_POINT=str(len(line)),
              _ARGCOMPLETE_STDOUT_FILENAME=str(answer), _ARGCOMPLETE_IFS=',')
    assert {each.strip() for each in answer.read_text().split(',')} == (
        expected)
