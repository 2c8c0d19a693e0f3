"""The driver of nodes on this machine."""

import pathlib
import shutil
import tempfile

import pytest

from tests.fixtures.kit.local import LocalCloud
from tests.fixtures.rootfs import makeArchive
from zuul_nodes.drivers.local import LocalDriver
from zuul_nodes.testing import DriverConformance


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
