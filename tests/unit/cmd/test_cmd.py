import pytest


def test_help_names_every_subcommand(zuulNodes):
    result = zuulNodes('--help')
    assert result.returncode == 0
    for name in ('doctor', 'launcher', 'quickstart', 'run'):
        assert name in result.stdout
        help_of_one = zuulNodes(name, '--help')
        assert help_of_one.returncode == 0
        assert f'zuul-nodes {name}' in help_of_one.stdout


def test_help_does_not_import_zuul(runProgram):
    result = runProgram('cook', '''
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


def test_run(zuulNodes):
    result = zuulNodes('run', 'zuul-scheduler', '--version')
    assert (result.returncode, result.stdout) == (
        0, 'Zuul version: 14.3.0\n')


def test_run_installs_the_plugin(zuulNodes, tmp_path):
    # The start-up file is not what does it here.
    tmp_path.joinpath('zuul.conf').write_text('''
[zookeeper]
hosts=127.0.0.1:1
tls_cert=cert.pem
tls_key=key.pem
tls_ca=ca.pem
[connection null]
driver=kubernetes
''')
    result = zuulNodes('run', 'zuul-launcher', '-f',
                       '-c', str(tmp_path / 'zuul.conf'))
    assert 'that name belongs to the driver static' in result.stderr


def test_run_switched_off(zuulNodes):
    result = zuulNodes('run', 'zuul-web', '--version',
                       ZUUL_NODES_DISABLE='1')
    assert result.returncode == 0
    assert 'switched off by ZUUL_NODES_DISABLE' in result.stderr


def test_run_of_something_else(zuulNodes):
    result = zuulNodes('run', 'zuul-sheduler')
    assert result.returncode == 1
    line, = result.stderr.splitlines()
    assert '"zuul-sheduler" is not one of the commands of Zuul' in line
    assert 'zuul-scheduler' in line


@pytest.mark.parametrize('conf, expected', [
    (None, 'there is no file'),
    ('[zookeeper', 'can not read zuul.conf'),
    ('', 'name your zuul.conf with -c'),
    ('[scheduler]\n', 'has no "hosts" in [zookeeper]'),
    ('[zookeeper]\nhosts=127.0.0.1\n', 'has no "tls_cert" in [zookeeper]'),
])
@pytest.mark.parametrize('command', ['launcher', 'run zuul-scheduler'])
def test_bad_zuul_conf(zuulNodes, tmp_path, command, conf, expected):
    path = tmp_path / 'zuul.conf'
    if conf is not None:
        path.write_text(conf)
    result = zuulNodes(*command.split(), '-f', '-c', str(path))
    assert (result.returncode, result.stdout) == (1, '')
    line, = result.stderr.splitlines()
    assert line.startswith(f'zuul-nodes {command.split()[0]}: ')
    assert expected in line
