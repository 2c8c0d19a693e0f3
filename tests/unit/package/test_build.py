"""What the package consists of when it is built."""

import configparser
import email
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import zuul_nodes

ROOT = pathlib.Path(__file__).parents[3]
BUILD = '''
import sys
from setuptools import build_meta
_, directory = sys.argv
build_meta.build_wheel(directory)
build_meta.build_sdist(directory)
'''
# What a source distribution has besides.
BESIDES = {'LICENSE', 'README.rst', 'pyproject.toml', 'setup.py'}
STARTUP_FILES = {'zuul_nodes.pth', 'zuul_nodes.start'}


def run(directory, *command):
    return subprocess.run(
        command, cwd=directory, check=True, capture_output=True,
        text=True).stdout


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A tree as it is in git, with all of it in a first commit."""
    target = tmp_path_factory.mktemp('source') / 'zuul-nodes'
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(
        '.*', 'build', 'dist', '*.egg-info', '__pycache__'))
    run(target, 'git', 'init', '-q')
    run(target, 'git', 'add', '.')
    run(target, 'git', '-c', 'user.name=a', '-c', 'user.email=a@example.com',
        'commit', '-qm', 'All')
    return target


@pytest.fixture(scope='module')
def built(source, tmp_path_factory):
    """:return: a directory with a wheel and a source distribution."""
    directory = tmp_path_factory.mktemp('built')
    run(source, sys.executable, '-c', BUILD, directory)
    return directory


@pytest.fixture(scope='module')
def files(source):
    """:return: the names of the files of the package."""
    names = set(run(source, 'git', 'ls-files', 'zuul_nodes').splitlines())
    assert 'zuul_nodes/cmd/driver-template/pyproject.toml' in names
    assert any(name.startswith('zuul_nodes/quickstart/git-repositories/')
               for name in names)
    return names


def test_wheel_has_package_and_startup_files(built, files):
    path, = built.glob('*.whl')
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist()
                 if '.dist-info/' not in name}
    assert names == files | STARTUP_FILES


def test_source_distribution_has_what_a_wheel_is_made_of(built, files):
    path, = built.glob('*.tar.gz')
    with tarfile.open(path) as archive:
        names = {member.name.partition('/')[2] for member in archive
                 if member.isfile()}
    assert {name for name in names if '.egg-info/' not in name} == (
        files | STARTUP_FILES | BESIDES | {'PKG-INFO', 'setup.cfg',
                                           'MANIFEST.in'})


def test_metadata_tells_who_made_it_and_where_it_runs(built):
    path, = built.glob('*.whl')
    with zipfile.ZipFile(path) as wheel:
        name, = (name for name in wheel.namelist()
                 if name.endswith('.dist-info/METADATA'))
        metadata = email.message_from_bytes(wheel.read(name))
    assert metadata['Author'] == 'The zuul-nodes maintainers'
    assert metadata['License-Expression'] == 'Apache-2.0'
    assert metadata.get_all('Project-URL') == ['Zuul, https://zuul-ci.org/']
    assert metadata['Description-Content-Type'] == 'text/x-rst'
    oldest, *others = [
        line.rpartition(' :: ')[2] for line in metadata.get_all('Classifier')
        if line.startswith('Programming Language :: Python :: 3.')]
    assert metadata['Requires-Python'] == f'>={oldest}'
    # The others that are named have an environment each.
    minors = ','.join(version.removeprefix('3.') for version in others)
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / 'tox.ini')
    assert f'testenv:py3{{{minors}}}' in tox


def test_version_is_that_of_the_tag(source):
    def getVersion():
        return run(source, sys.executable, '-m', 'setuptools_scm').strip()

    assert getVersion().startswith('0.1.dev1+')
    run(source, 'git', 'tag', '1.2.3')
    assert getVersion() == '1.2.3'
    run(source, 'git', 'tag', '-d', '1.2.3')


def test_version_of_a_tree_without_git(source, tmp_path):
    shutil.copy(source / 'pyproject.toml', tmp_path)
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool'][
        'setuptools_scm']
    assert run(tmp_path, sys.executable, '-m', 'setuptools_scm').strip() == (
        settings['fallback_version'])


def test_package_knows_its_version():
    assert zuul_nodes.__version__
    with pytest.raises(AttributeError, match='no_such_thing'):
        _ = zuul_nodes.no_such_thing
