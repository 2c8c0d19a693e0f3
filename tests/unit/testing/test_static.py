"""The driver of machines that are there already."""

import pytest

from tests.fixtures.kit.static import StaticCloud
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestStatic(DriverConformance):
    driver_class = StaticDriver
    many = 3

    @pytest.fixture
    def cloud(self, tmp_path):
        cloud = StaticCloud(tmp_path, self.many)
        yield cloud
        cloud.end()
