import json
import subprocess

import pytest
from zuul.zk.components import LauncherComponent

from tests.fixtures.packages import writePackage
from tests.fixtures.programs import writeConf
import zuul_nodes
from zuul_nodes import cmd, withdrawals
from zuul_nodes.cmd import doctor


def test_healthy(zuulNodes):
    result = zuulNodes('doctor')
    assert result.returncode == 0, result.stdout
    assert 'No problems found.' in result.stdout
    for expected in ('zuul.scheduler.Scheduler.prime',
                     'stock commands load the plugin',
                     "in place of Zuul's"):
        assert expected in result.stdout


def test_json(monkeypatch, capsys):
    # What the probe can find is in the other tests.
    monkeypatch.setattr(
        doctor, 'startProbe', lambda directory: subprocess.Popen(
            ['true'], stderr=subprocess.PIPE, text=True))
    assert cmd.main(['doctor', '--format', 'json']) == 0
    findings = json.loads(capsys.readouterr().out)
    assert findings['healthy'] is True
    assert {'check': 'zuul.components', 'subject': 'launcher', 'ok': True,
            'detail': f'zuul-nodes {zuul_nodes.__version__}'
            } in findings['findings']


def examine(zuulNodes, **environ):
    result = zuulNodes('doctor', '--format', 'json', **environ)
    assert result.returncode == 1
    findings = json.loads(result.stdout)
    assert findings['healthy'] is False
    return {(f['check'], f['subject']): f['detail']
            for f in findings['findings'] if not f['ok']}


def test_switched_off(zuulNodes):
    wrong = examine(zuulNodes, ZUUL_NODES_DISABLE='1')
    assert wrong == {('environment', 'ZUUL_NODES_DISABLE'):
                     'set: the plugin is disabled',
                     ('environment', 'start-up file'):
                     'stock commands do not load the plugin'}


def test_start_up_file_does_not_run(zuulNodes, tmp_path):
    # A package that shadows the door, as a broken install would.
    tmp_path.joinpath('sitecustomize.py').write_text(
        'import sys\n'
        'sys.meta_path[:] = [f for f in sys.meta_path\n'
        '                    if type(f).__name__ != "_Door"]\n')
    wrong = examine(zuulNodes, PYTHONPATH=str(tmp_path))
    assert ('stock commands do not load the plugin'
            in wrong['environment', 'start-up file'])


def test_wrong_version_and_broken_and_duplicate_entry_points(
        zuulNodes, tmp_path):
    writePackage(tmp_path, 'zuul', '15.0.0')
    writePackage(tmp_path, 'shelf', '0.7', {
        'zuul.drivers': {'shelf': 'nowhere:Driver',
                         'static': 'nowhere:Static'}})
    wrong = examine(zuulNodes, PYTHONPATH=str(tmp_path))
    assert set(wrong) == {('version', 'zuul'), ('zuul.drivers', 'shelf'),
                          ('zuul.drivers', 'static'),
                          ('environment', 'start-up file')}
    assert 'Zuul is 15.0.0' in wrong['environment', 'start-up file']
    assert 'Zuul is 15.0.0' in wrong['version', 'zuul']
    assert 'shelf 0.7' in wrong['zuul.drivers', 'shelf']
    assert (f'shelf 0.7 and zuul-nodes {zuul_nodes.__version__}'
            in wrong['zuul.drivers', 'static'])


def test_zuul_itself_is_broken(zuulNodesAfresh, tmp_path):
    # Also then there is a table, and it has what can be told.
    tmp_path.joinpath('git.py').write_text('raise ImportError("ah")')
    wrong = examine(zuulNodesAfresh, PYTHONPATH=str(tmp_path))
    assert 'ImportError: ah' in wrong['environment', 'start-up file']
    assert 'ah' in wrong[
        'seam', 'zuul.lib.connections.ConnectionRegistry.configure']
    assert wrong['examineDrivers', ''] == 'ImportError: ah'


@pytest.fixture
def examineLogins(zuul_conf, tmp_path):
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return lambda: list(doctor.examineLogins(str(path)))


def test_a_launcher_cannot_log_in(examineLogins, zk_client):
    component = LauncherComponent(zk_client, 'one')
    component.register()
    finding, = examineLogins()
    assert finding.ok
    withdrawals.note(component, {'west/region': withdrawals.make('no file')})
    withdrawals.write(component)
    finding, = examineLogins()
    assert not finding.ok
    assert (finding.subject, finding.detail) == (
        'one at west/region', 'no file')


def test_launchers_are_not_asked_where_there_is_no_zookeeper(
        tmp_path, monkeypatch):
    path = tmp_path / 'zuul.conf'
    path.write_text('[zookeeper]\n')
    finding, = doctor.examineLogins(str(path))
    assert finding.ok
    assert 'not asked: zuul.conf has no "hosts"' in finding.detail
    monkeypatch.setattr('zuul_nodes.zuulconf.LOCATIONS', ())
    assert list(doctor.examineLogins(None)) == []
