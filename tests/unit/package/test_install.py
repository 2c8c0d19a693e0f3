"""The package as pip sees it: wheel, editable, gone."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.fixtures.packages import SHELF, writePackage

pytestmark = pytest.mark.services

ROOT = pathlib.Path(__file__).parents[3]
# Every stock command that reads zuul.conf with its connections.
COMMANDS = ('zuul-scheduler', 'zuul-web', 'zuul-executor', 'zuul-launcher',
            'zuul-merger', 'zuul-admin')


def call(*arguments, **environ):
    """:return: the completed process, its output as one text."""
    return subprocess.run(
        arguments, env={'PATH': '/usr/bin:/bin', **environ}, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)


def check(*arguments, **environ):
    result = call(*arguments, **environ)
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A copy of the source tree, free of what earlier builds left."""
    target = tmp_path_factory.mktemp('source') / 'zuul-nodes'
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(
        '.*', 'build', 'dist', '*.egg-info', '__pycache__'))
    return target


@pytest.fixture(scope='module')
def environment(tmp_path_factory):
    """A fresh virtual environment, with nothing but pip in it."""
    directory = tmp_path_factory.mktemp('environment')
    check(sys.executable, '-m', 'venv', directory)
    # That of Debian 12 takes three times as long.
    pip(directory, 'install', '--upgrade', 'pip')
    return directory


def pip(environment, *arguments):
    # The registries that this machine is set up to use.
    settings = {name: value for name, value in os.environ.items()
                if name.lower().startswith(('pip_', 'http', 'ssl', 'no_'))
                or name in ('HOME', 'REQUESTS_CA_BUNDLE')}
    # Most of what is installed is never imported.
    settings['PIP_NO_COMPILE'] = '1'
    return check(environment / 'bin/pip', '--disable-pip-version-check',
                 '-q', *arguments, **settings)


def installWheel(environment, source, tmp_path):
    pip(environment, 'wheel', '--no-deps', '-w', tmp_path, source)
    wheel, = tmp_path.glob('*.whl')
    # Without it, mypy looks at none of the types.
    assert 'zuul_nodes/py.typed' in zipfile.ZipFile(wheel).namelist()
    pip(environment, 'install', wheel)


def installEditable(environment, source, tmp_path):
    pip(environment, 'install', '-e', source)


# In one test, as each environment for itself takes a minute to fill.
@pytest.mark.seconds(180)
def test_life_of_an_install(environment, source, tmp_path):
    for install, commands in ((installWheel, COMMANDS),
                              (installEditable, COMMANDS[:1])):
        directory = tmp_path / install.__name__
        directory.mkdir()
        install(environment, source, directory)
        checkLife(environment, directory, commands)


def checkLife(environment, directory, commands):
    """Check what is installed now, and uninstall it.

    :param commands: those of Zuul that a broken driver is to stop.
    """
    bin_dir = environment / 'bin'
    assert 'No problems found.' in check(bin_dir / 'zuul-nodes', 'doctor')

    # A driver that another package ships is there
    pip(environment, 'install', '--no-deps',
        shutil.copytree(SHELF, directory / 'shelf'))
    assert 'shelf-maker 0.7' in check(bin_dir / 'zuul-nodes', 'doctor')
    pip(environment, 'uninstall', '-y', 'shelf-maker')

    # A broken one stops each of Zuul's commands, with one line.
    packages = directory / 'packages'
    writePackage(packages, 'broken', '3', {
        'zuul.drivers': {'shelf': 'nowhere:Driver'}})
    for command in commands:
        result = call(bin_dir / command, '--version',
                      PYTHONPATH=str(packages))
        assert result.returncode == 1, command
        line, = result.stdout.splitlines()
        assert 'package broken 3' in line
        # Nothing of that with the plugin switched off.
        assert 'Zuul version: 14.' in check(
            bin_dir / command, '--version', ZUUL_NODES_DISABLE='1',
            PYTHONPATH=str(packages))

    # Once uninstalled, it has never been there.
    pip(environment, 'uninstall', '-y', 'zuul-nodes')
    left = [path for path in environment.rglob('*')
            if 'zuul_nodes' in path.name or 'zuul-nodes' in path.name]
    assert left == []
    assert check(bin_dir / 'python', '-c', '') == ''
    assert 'Zuul version: 14.' in check(bin_dir / 'zuul-scheduler',
                                        '--version')
