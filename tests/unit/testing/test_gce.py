"""The driver of Google Compute Engine, at an emulated cloud."""

import pytest

from tests.emulators.gce import GCE
from tests.fixtures.kit.gce import GceCloud, HurriedDriver
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestGce(DriverConformance):
    driver_class = HurriedDriver
    # Google's client polls once a second, and beside other tests a launcher
    # that replaces another takes seconds to start.
    snapshot_expiration = 20

    @pytest.fixture
    def cloud(self, way):
        gce = GCE()
        yield GceCloud(
            gce, 'image-format: tar.gz' if way == 'import' else '')
        gce.end()
