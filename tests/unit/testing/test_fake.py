"""The driver that there is for such tests."""

import pytest

from tests.fixtures.kit.fake import FakeCloud
from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestFake(DriverConformance):
    driver_class = FakeDriver

    @pytest.fixture
    def cloud(self, tmp_path):
        return FakeCloud(tmp_path / 'cloud')
