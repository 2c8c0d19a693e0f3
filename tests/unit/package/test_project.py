"""How the project is tested: in its own Zuul, by tox, before a commit."""

import ast
import configparser
import pathlib
import re
import tomllib

import pytest
import yaml

from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    TenantWithPipelines,
    enter,
)

ROOT = pathlib.Path(__file__).parents[3]
FILES = ('jobs.yaml', 'project.yaml')
BASE = '''
- pipeline: {name: check, manager: independent}
- pipeline: {name: gate, manager: dependent}
- job: {name: base, parent: null}
'''


@pytest.fixture
def tenant(monkeypatch):
    """A tenant that has the project, and no nodes yet."""
    enter(monkeypatch)
    return TenantWithPipelines({
        (CONFIG, 'main', 'zuul.d/base.yaml'): BASE,
        **{(NODES, 'main', f'zuul.d/{name}'):
           (ROOT / 'zuul.d' / name).read_text() for name in FILES}})


@pytest.fixture
def tox():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / 'tox.ini')
    return config


def test_check_and_gate_run_what_has_to_pass(tenant):
    assert tenant.errors == []
    project, = tenant.layout.getProjectConfigs('example.com/nodes')
    jobs = {name: list(pipeline.job_list.jobs)
            for name, pipeline in project.pipelines.items()}
    assert jobs['check'] == jobs['gate']
    commands, environments = [], []
    for name in jobs['gate']:
        job = tenant.layout.getJob(name)
        playbook, = job.run or tenant.layout.getJob(job.parent).run
        play, = yaml.safe_load((ROOT / playbook.path).read_text())
        task, = play['tasks']
        commands.append(str(task['ansible.builtin.command']))
        if 'zuul_nodes_test_arguments' in commands[-1]:
            assert './tools/test' in commands[-1]
            option, names = job.variables['zuul_nodes_test_arguments']
            assert option == '-e'
            environments += names.split(',')
    assert any('./tools/quickstart' in command for command in commands)
    # The last three are "tests" in one.
    assert environments == ['lint', 'docs', 'unit', 'crash', 'services']


def test_one_environment_has_the_tests_of_three(tox):
    assert tox['tox']['env_list'] == 'tests, lint, docs'
    pytest_config = tomllib.loads((ROOT / 'pyproject.toml').read_text())[
        'tool']['pytest']['ini_options']
    left_out = {}
    for name, expression in (
            ('unit', pytest_config['addopts'][-1]),
            ('tests', tox['testenv:tests']['commands'])):
        left_out[name] = set(re.search(
            r'not \((.*)\)', expression).group(1).split(' or '))
    assert left_out['unit'] - left_out['tests'] == {'crash', 'services'}
    assert left_out['tests'] < left_out['unit']
    for name in ('crash', 'services'):
        assert f'-m {name} ' in tox[f'testenv:{name}']['commands']


def test_hooks_run_what_lint_runs(tox):
    """In the same versions."""
    hooks = yaml.safe_load(
        (ROOT / '.pre-commit-config.yaml').read_text())['repos'][0]['hooks']
    lint = tox['testenv:lint']
    for hook in hooks:
        for requirement in hook['additional_dependencies']:
            assert requirement in lint['deps'].splitlines()
        command = hook['entry'].removeprefix('env PYTHONPATH=. ')
        assert command.split()[0] in lint['commands']


def test_no_module_imports_from_a_test_module():
    """What several modules use is in tests/fixtures, or in a conftest."""
    found = []
    for path in (ROOT / 'tests').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f'{node.module}.{alias.name}'
                         for alias in node.names]
            found += [f'{path}: {name}' for name in names
                      if name.startswith('tests.') and '.test_' in name]
    assert found == []
