"""A package with a driver, as ``zuul-nodes new-driver`` writes it."""

import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from tests.fixtures.packages import writePackage
from zuul_nodes import cmd
from zuul_nodes.cmd import newdriver
from zuul_nodes.drivers.api.adapter import METHODS

ROOT = pathlib.Path(__file__).parents[3]
# Seconds for all of the kit, one test after the other.
KIT_TIMEOUT = 3600
GUIDE = (ROOT / 'doc/source/reference/drivers.rst').read_text()
TUTORIAL = (ROOT / 'doc/source/tutorials/first-driver.rst').read_text()
# Makes the provider of the example in the README, with the driver in the
# class of the entry point.
LOAD = '''
import configparser
import importlib
import re
import sys
import textwrap
from tests.fixtures.layout import makeLayout
from zuul_nodes.reference import getSections
from zuul_nodes.testing.layout import makeConnections

module, cls = sys.argv[1].split(':')
blocks = re.findall(r'\\n((?:    ?.*\\n|\\n)+)', open(sys.argv[2]).read())
conf, text = (textwrap.dedent(block) for block in blocks
              if '[connection ' in block or '- image' in block)
config = configparser.ConfigParser()
config.read_string(conf)
driver_class = getattr(importlib.import_module(module), cls)
connections = makeConnections(config, driver_class).connections
layout = makeLayout(text)
provider_config, = layout.provider_configs.values()
flat = provider_config.flattenConfig(layout, connections)
connection = connections[flat['connection']]
provider = connection.driver.getProvider(
    None, connection, 'tenant', provider_config.canonical_name, flat, '')
print(driver_class.name, connection.path, sorted(provider.labels),
      provider.images['debian'].image_id, provider.flavors['small'].size)
print({each.name for _, attributes in getSections(driver_class)
       for each in attributes} >= {'path', 'image-id', 'size'})
'''


def runHere(directory, *arguments, timeout=900):
    """Run Python with a package that is written, not installed."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=directory, text=True,
        env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1',
             'PYTHONPATH': os.pathsep.join([str(directory), str(ROOT)])},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
        check=False)


def getFiles(directory):
    return sorted(
        str(path) for path in (each.relative_to(directory)
                               for each in directory.rglob('*')
                               if each.is_file())
        # What tools leave there is not meant.
        if not any(part.startswith(('.', '__pycache__'))
                   for part in path.parts))


@pytest.fixture
def refuse(capsys):
    """:return: a function that calls the command, and expects it to refuse
        to begin; gives the line that it says."""
    def refuse(*arguments, status=1):
        try:
            assert cmd.main(['new-driver', *map(str, arguments)]) == status
        except SystemExit as end:
            assert end.code == status
        said = capsys.readouterr()
        assert said.out == ''
        return said.err.splitlines()[-1]
    return refuse


def test_what_is_written(zuulNodes, runProgram, tmp_path):
    directory = tmp_path / 'my drivers'
    result = zuulNodes('new-driver', 'my-cloud', '--directory', directory)
    assert (result.returncode, result.stderr) == (0, '')
    files = getFiles(directory)
    assert files == [
        'README.rst', 'pyproject.toml', 'tests/test_conformance.py',
        'zuul_my_cloud/__init__.py', 'zuul_my_cloud/adapter.py',
        'zuul_my_cloud/toycloud.py']
    for path in files:
        assert f'  {path} ' in result.stdout
        text = (directory / path).read_text()
        assert 'acme' not in text.lower(), path
        assert text.endswith('\n')
    *_, change, install, test = result.stdout.splitlines()
    assert change == f"  cd '{directory}'"
    # What is to be installed is there.
    package = tomllib.loads((directory / 'pyproject.toml').read_text())
    project = package['project']
    extra, = re.fullmatch(r"  pip install -e '\.\[(.*)\]'", install).groups()
    assert extra in project['optional-dependencies']
    assert test == '  pytest'
    assert project['name'] == 'zuul-my-cloud'
    assert project['entry-points'] == {
        'zuul.drivers': {'my-cloud': 'zuul_my_cloud:MyCloudDriver'}}
    # And the driver in it understands the README.
    loaded = runProgram(
        'load.py', LOAD, 'zuul_my_cloud:MyCloudDriver',
        directory / 'README.rst',
        PYTHONPATH=os.pathsep.join([str(directory), str(ROOT)]))
    assert loaded.stdout == (
        "my-cloud /var/lib/zuul/my-cloud ['debian-small'] debian small\n"
        'True\n')


def test_whole_template_is_written():
    assert sorted(newdriver.FILES) == getFiles(newdriver.TEMPLATE)


@pytest.mark.parametrize(('name', 'proposal'), [
    ('Hill', 'hill'), ('my_cloud', 'my-cloud'), ('3d', 'my-3d'),
    ('cloud-', 'cloud'), ('a--b', 'a-b'), ('..', 'cloud'), ('', 'cloud'),
])
def test_names_that_are_refused(name, proposal, tmp_path, refuse):
    line = refuse(name, '--directory', tmp_path / 'new', status=2)
    assert f'"{name}" does not consist of' in line
    assert f'use "{proposal}"' in line
    assert not (tmp_path / 'new').exists()


@pytest.mark.parametrize(('name', 'owner'), [
    ('gerrit', 'Zuul already has a driver "gerrit"'),
    ('static', 'zuul-nodes .* already has a driver "static"'),
    ('hill', 'hill-maker 3 already has a driver "hill"'),
    ('nodes', 'a package zuul-nodes or a module zuul_nodes is already'),
])
def test_names_that_are_taken(name, owner, tmp_path, refuse, monkeypatch):
    writePackage(tmp_path / 'packages', 'hill-maker', '3', {
        'zuul.drivers': {'hill': 'hill:HillDriver'}})
    monkeypatch.syspath_prepend(tmp_path / 'packages')
    line = refuse(name, '--directory', tmp_path / 'new')
    assert re.search(owner, line)
    assert f'such as "my-{name}"' in line
    assert not (tmp_path / 'new').exists()


def test_directory_with_something_in_it(tmp_path, refuse):
    (tmp_path / 'file').touch()
    for directory, problem in (
            (tmp_path, 'is not empty'),
            (tmp_path / 'file', 'cannot be used: Not a directory'),
            (tmp_path / 'file/new', 'cannot be used: Not a directory')):
        line = refuse('hill', '--directory', directory)
        assert f'{directory} {problem}; name an empty or new' in line
    assert getFiles(tmp_path) == ['file']


def test_directory_by_default(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cmd.main(['new-driver', 'acme']) == 0
    commands = capsys.readouterr().out.splitlines()[-3:]
    assert commands[0] == '  cd zuul-acme'
    assert getFiles(tmp_path / 'zuul-acme') == sorted(newdriver.FILES)
    # The tutorial says the same.
    for line in commands:
        assert f'   $ {line.strip()}\n' in TUTORIAL
    for path in newdriver.FILES:
        assert f'\n``{path}``\n' in GUIDE


def test_empty_directory_will_do(tmp_path):
    assert cmd.main(['new-driver', 'hill', '--directory',
                     str(tmp_path)]) == 0
    assert getFiles(tmp_path)


def test_size_of_a_driver():
    """What the author of a driver has to write, without comments."""
    lines = [
        line for path in ('zuul_acme/__init__.py', 'zuul_acme/adapter.py')
        for line in (newdriver.TEMPLATE / path).read_text().splitlines()
        if line.strip() and not line.strip().startswith('#')]
    assert len(lines) < 100


def test_guide_knows_all_abilities():
    table = re.search(r'\.\. list-table:: What an adapter can declare\n'
                      r'((?:   .*\n|\n)+)', GUIDE).group(1)
    rows = re.findall(r'\* - ``(.*)``\n +- (.*)\n', table)
    assert [(name, re.findall(r'``(.*?)``', methods))
            for name, methods in rows] == [
        (ability.name, list(methods)) for ability, methods in METHODS.items()]


@pytest.mark.conformance
@pytest.mark.timeout(KIT_TIMEOUT)
def test_package_passes_its_tests(tmp_path):
    newdriver.write('hill', tmp_path / 'zuul-hill')
    result = runHere(
        tmp_path / 'zuul-hill', '-m', 'pytest', '-q', '-rs',
        '-p', 'no:cacheprovider', '--basetemp', tmp_path / 'temp',
        timeout=KIT_TIMEOUT)
    assert result.returncode == 0, result.stdout
    # What it declares, it has.
    lacking = {ability for abilities in re.findall(
        'does not declare (.*)', result.stdout)
        for ability in abilities.split(' or ')}
    assert lacking
    assert not lacking & {'unique-names', 'limits', 'images'}
