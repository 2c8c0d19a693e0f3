"""The driver of Google Compute Engine, at an emulated cloud."""

import pytest

from tests.fixtures.gce import GCE
from tests.fixtures.kit.gce import (
    CONFIGURATION,
    GceCloud,
    HurriedDriver,
)
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestGce(DriverConformance):
    driver_class = HurriedDriver

    @pytest.fixture
    def cloud(self, way):
        gce = GCE()
        yield GceCloud(gce, CONFIGURATION if way != 'import'
                    else CONFIGURATION.replace(
                        '- built\n', '- {name: built, image-format: tar.gz}'
                        '\n', 1))
        gce.end()
