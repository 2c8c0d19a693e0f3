"""Which versions are installed, by the tests and by the roles."""

import configparser
import pathlib
import re
import subprocess
import sys
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[3]
PINNED = re.compile(r'[\w.\[\],-]+==\d[\w.+]*')
# The Python that constraints.txt is made with.
OLDEST = 3, 11
TEMPLATE = re.compile(r'\{\{ *(\w+) *\}\}')
# Modules that install something, by the last part of their names.
PIP = {'pip'}
SYSTEM = {'apt', 'dnf', 'package', 'yum', 'zypper'}
COMMANDS = {'command', 'raw', 'script', 'shell'}
INSTALLS = re.compile(r'\b(?:pip3?|apt|apt-get|dnf|yum)\b.*install\b',
                      re.DOTALL)


def readConstraints():
    lines = (ROOT / 'constraints.txt').read_text().splitlines()
    return dict(line.split('==') for line in lines
                if not line.startswith('#'))


def readRequirements():
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    return [Requirement(line) for lines in (
        project['dependencies'], *project['optional-dependencies'].values())
        for line in lines]


def test_constraints_are_within_the_bounds_of_the_package():
    constraints = readConstraints()
    for requirement in readRequirements():
        version = constraints[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement


def test_constraints_are_what_is_tested():
    """Each package that is needed is in there, in the version that is
    installed here, and no other.  A newer Python needs fewer of them."""
    result = subprocess.run(
        [sys.executable, ROOT / 'tools/constraints'], capture_output=True,
        text=True, check=True)
    installed = result.stdout.splitlines()
    constraints = (ROOT / 'constraints.txt').read_text().splitlines()
    if sys.version_info[:2] > OLDEST:
        constraints = [line for line in constraints if line in installed]
    assert installed == constraints


def test_environments_install_what_is_in_the_constraints():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / 'tox.ini')
    assert '--constraint {tox_root}/constraints.txt' in tox[
        'testenv']['install_command']
    others = {name for name in tox.sections()
              if name != 'testenv' and 'install_command' in tox[name]}
    assert others == {'testenv:conformance', 'testenv:bench'}
    assert '--strict' in tox['testenv:audit']['commands']
    assert 'audit' not in tox['tox']['env_list']


def getTasks(content):
    """:return: yields each task of a playbook or a file of tasks."""
    if isinstance(content, list):
        for each in content:
            yield from getTasks(each)
    elif isinstance(content, dict):
        yield content
        for name in ('tasks', 'pre_tasks', 'post_tasks', 'handlers', 'block',
                     'rescue', 'always'):
            yield from getTasks(content.get(name))


def findUnpinned(tasks, defaults):
    """
    :param tasks: a list of tasks or plays.
    :param dict defaults: of the variables of all roles.
    :return: a list of what installs whatever is newest.
    """
    found = []
    for task in getTasks(tasks):
        for key, value in task.items():
            module = key.rpartition('.')[2]
            if module in COMMANDS and INSTALLS.search(str(value)):
                found.append(f'{module}: {value}')
            elif module in PIP | SYSTEM:
                if value.get('state', 'present') != 'present':
                    found.append(f'{module}: {value["state"]}')
                found += _findUnpinnedNames(module, value, defaults)
        found += [f'{name}: {each}'
                  for name, value in (task.get('vars') or {}).items()
                  if name.endswith('_requirements')
                  for each in getUnpinned(value, defaults)]
    return found


def _findUnpinnedNames(module, arguments, defaults):
    if module in PIP:
        if 'requirements' in arguments:
            return [f'pip: {arguments["requirements"]}']
        return [f'pip: {name}'
                for name in getUnpinned(arguments['name'], defaults)]
    # The distribution of the node has but one version of each.
    name = TEMPLATE.fullmatch(str(arguments['name']))
    return [] if name and name[1] in defaults else [
        f'{module}: {arguments["name"]}']


def getUnpinned(value, defaults):
    """:return: yields what pip would take any version of; users may change
        each variable."""
    for each in value if isinstance(value, list) else [value]:
        if name := TEMPLATE.fullmatch(each):
            if name[1] not in defaults:
                yield each
            else:
                yield from getUnpinned(defaults[name[1]], defaults)
        elif not PINNED.fullmatch(each):
            yield each


def readDefaults():
    defaults = {}
    for path in ROOT.glob('roles/*/defaults/*.yaml'):
        for name, value in yaml.safe_load(path.read_text()).items():
            # Two roles have other values of one variable.
            if isinstance(value, list):
                defaults.setdefault(name, []).extend(value)
            else:
                defaults[name] = value
    return defaults


FILES = [*ROOT.glob('roles/*/tasks/*.yaml'),
         *ROOT.glob('roles/*/handlers/*.yaml'),
         *ROOT.glob('playbooks/**/*.yaml')]


def test_roles_install_fixed_versions():
    defaults = readDefaults()
    found = {str(path.relative_to(ROOT)): unpinned for path in FILES
             if (unpinned := findUnpinned(
                 yaml.safe_load(path.read_text()), defaults))}
    assert found == {}
    assert len(FILES) > 10
    # What is there to be found.
    assert any('ansible.builtin.pip' in path.read_text() for path in FILES)


@pytest.mark.parametrize('task', [
    {'ansible.builtin.pip': {'name': 'boto3'}},
    {'pip': {'name': ['boto3==1.44.8', 'wheel>=1']}},
    {'pip': {'name': 'boto3==1.*'}},
    {'pip': {'name': '{{ unpinned }}'}},
    {'pip': {'name': '{{ unknown }}'}},
    {'pip': {'requirements': 'requirements.txt'}},
    {'pip': {'name': '{{ pinned }}', 'state': 'latest'}},
    {'include_role': {'name': 'zuul-nodes-virtualenv'},
     'vars': {'zuul_nodes_virtualenv_requirements': ['boto3']}},
    {'ansible.builtin.package': {'name': 'sudo'}},
    {'apt': {'name': '{{ unpinned }}', 'state': 'latest'}},
    {'ansible.builtin.command': 'python3 -m pip install --upgrade boto3'},
    {'shell': {'cmd': 'apt-get -y\ninstall sudo'}},
    {'block': [{'always': [{'pip': {'name': 'boto3'}}]}]},
    {'hosts': 'all', 'tasks': [{'pip': {'name': 'boto3'}}]},
])
def test_what_has_no_fixed_version_is_found(task):
    defaults = {'unpinned': ['boto3'], 'pinned': ['boto3==1.44.8']}
    assert findUnpinned([task], defaults)
    assert not findUnpinned([{'pip': {'name': '{{ pinned }}'}}], defaults)
