"""The driver of machines that are there already."""

import pytest

from tests.fixtures.kit.static import (
    CONFIGURATION,
    ZUULS_CONFIGURATION,
    StaticCloud,
    ZuulsDriver,
)
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestStatic(DriverConformance):
    driver_class = StaticDriver
    configuration = CONFIGURATION
    many = 3

    @pytest.fixture
    def cloud(self, tmp_path):
        cloud = StaticCloud(tmp_path, self.many, self.configuration)
        yield cloud
        cloud.end()


class TestZuulsStatic(TestStatic):
    driver_class = ZuulsDriver
    configuration = ZUULS_CONFIGURATION
