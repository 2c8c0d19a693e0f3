"""What ``zuul-nodes launchers`` shows."""

import json
import pathlib
import re
import time

import pytest
from zuul.zk.components import LauncherComponent

from tests.fixtures.programs import writeConf
from zuul_nodes import candidates, withdrawals

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture
def launchers(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs the command."""
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return lambda *arguments: zuulNodes('launchers', '-c', path, *arguments)


def register(zk_client, name, connections=None):
    component = LauncherComponent(
        zk_client, name, version='14.3.0', connection_filter=connections)
    component.register()
    component.state = component.RUNNING
    return component


def test_the_planner_comes_first_and_zuuls_launchers_last(
        launchers, zk_client):
    for name in ('stock', 'embedded'):
        register(zk_client, name)
    register(zk_client, 'alone', ['rack', 'other'])
    candidates.create(zk_client.client, 'a', 'alone', False)
    candidates.create(zk_client.client, 'b', 'embedded', True)
    result = launchers()
    assert (result.returncode, result.stderr) == (0, '')
    rows = [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in result.stdout.splitlines() if line.startswith('|')]
    assert rows[1:] == [
        ['alone', 'running', 'yes', 'its own process', 'rack, other',
         '14.3.0'],
        ['embedded', 'running', 'next (1)', 'a scheduler', 'all', '14.3.0'],
        ['stock', 'running', 'no', '-', 'all', '14.3.0']]
    assert 'No launcher' not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert [(each['name'], each['plans'], each['position']) for each
            in json.loads(launchers('--format', 'json').stdout)] == [
        ('alone', True, 0), ('embedded', False, 1), ('stock', False, None)]


def test_it_prints_what_the_documentation_shows(launchers, zk_client):
    for name, is_embedded in (('zl01-3f9a2c1e', False),
                              ('zs01-b81c07d4', True)):
        register(zk_client, name)
        candidates.create(zk_client.client, name, name, is_embedded)
    page = (ROOT / 'doc/source/howto/run-launchers.rst').read_text()
    _, _, shown = page.partition('    $ zuul-nodes launchers\n')
    expected, _, _ = shown.partition('\n\n')
    assert launchers().stdout.splitlines() == [
        line.strip() for line in expected.splitlines()]


def test_it_says_that_no_launcher_plans(launchers):
    result = launchers()
    assert result.returncode == 0
    assert 'No launcher of zuul-nodes plans' in result.stdout


def test_it_says_who_cannot_log_in(launchers, zk_client):
    page = (ROOT / 'doc/source/howto/run-launchers.rst').read_text()
    expected, = (line.strip() for line in page.splitlines()
                 if 'has not been able' in line)
    endpoint, reason = re.search(
        r'endpoint (\S+) for 12 min: (.*)', expected).groups()
    component = register(zk_client, 'zs01-b81c07d4')
    withdrawals.note(component, {endpoint: withdrawals.Withdrawal(
        int(time.time()) - 720, reason)})
    withdrawals.write(component)
    register(zk_client, 'zl01')
    result = launchers()
    assert result.returncode == 0
    assert expected in result.stdout.splitlines()
    assert result.stdout.count('log in') == 1
    found = {each['name']: each['withdrawn'] for each
             in json.loads(launchers('--format', 'json').stdout)}
    assert found['zl01'] == []
    withdrawn, = found['zs01-b81c07d4']
    assert (withdrawn['endpoint'], withdrawn['reason']) == (endpoint, reason)
    assert withdrawn['since'] < time.time() - 600
