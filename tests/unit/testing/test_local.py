"""The driver of nodes on this machine."""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

from tests.fixtures.rootfs import makeArchive
from zuul_nodes.drivers.local import LocalDriver, sandbox
from zuul_nodes.drivers.local.entries import Entries
from zuul_nodes.testing import DriverConformance

CONFIGURATION = '''
- image: {{name: image, type: cloud}}
- image: {{name: built, type: zuul}}
- flavor: {{name: small}}
- label: {{name: label, image: image, flavor: small}}
- label: {{name: built, image: built, flavor: small}}
- section:
    name: section
    connection: cloud
    images:
      - name: image
        image-path: {archive}
      - built
    flavors: [small]
- provider:
    name: provider
    section: section
    images: [image, built]
    labels: [label, built]
'''


class LocalCloud:
    """
    :param Path directory: that any user can reach.
    :param Path archive: of a root file system.
    """

    def __init__(self, directory, archive):
        self.configuration = CONFIGURATION.format(archive=archive)
        key = directory / 'key'
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
                        key], check=True)
        self.connection = {
            'directory': directory / 'local',
            'authorized_keys': f'{key}.pub',
            'import_directories': archive.parent}
        self.content = archive.read_bytes()
        self._entries = {
            kind: Entries(directory / 'local' / kind, sandbox.Sandbox())
            for kind in ('nodes', 'images')}

    def list(self):
        # The archive of the image is unpacked once, to stay.
        return [f'{kind}/{name}' for kind, entries in self._entries.items()
                for name in entries.names()
                if not name.startswith('path-')] + [
                    f'process {process.pid}'
                    for processes in sandbox.find().values()
                    for process in processes]

    def setLimit(self, number):
        self.connection['max_instances'] = number

    def end(self):
        for entries in self._entries.values():
            for name in entries.names():
                entries.remove(name)


@pytest.fixture(scope='module')
def archive(tmp_path_factory):
    return makeArchive(tmp_path_factory.mktemp('rootfs') / 'root.tar')


@pytest.mark.conformance
class TestLocal(DriverConformance):
    driver_class = LocalDriver
    many = 5

    @pytest.fixture
    def cloud(self, archive):
        directory = pathlib.Path(tempfile.mkdtemp())
        directory.chmod(0o755)
        cloud = LocalCloud(directory, archive)
        yield cloud
        cloud.end()
        shutil.rmtree(directory)
