import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from tests.fixtures.ending import endWith
from tests.fixtures.rootfs import makeArchive
from tests.unit.drivers.local.sites import Site
from zuul_nodes.drivers.local.entries import Entries


@pytest.fixture(scope='session')
def archive(tmp_path_factory):
    """:return: the path of an archive of a root file system."""
    directory = tmp_path_factory.mktemp('rootfs')
    return makeArchive(directory / 'root.tar')


@pytest.fixture
def directory():
    """:return: a directory that any user can reach; no processes are left
        of what is in it."""
    path = pathlib.Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for kind in ('nodes', 'images'):
        entries = Entries(path / 'local' / kind, None)
        for name in entries.names():
            entries.removeEntry(name)
    shutil.rmtree(path)


@pytest.fixture
def key(directory):
    """:return: the path of a private key."""
    path = directory / 'key'
    subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                    path], check=True)
    return path


@pytest.fixture
def options(directory, key, archive):
    """:return: options of a connection."""
    return {'directory': str(directory / 'local'),
            'authorized_keys': f'{key}.pub',
            'import_directories': f'{archive.parent}, {directory}/import'}


@pytest.fixture
def makeSite(request, options, archive):
    """:return: a function that makes a :class:`Site`."""
    return lambda **image: endWith(request, Site(options, **image or {
        'image_path': os.fspath(archive)}))
