"""The scenarios of the kit without faults, which take seconds."""

import pytest

from tests.fixtures.kit.fake import FakeCloud
from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.testing import DriverConformance


class TestQuick(DriverConformance):
    driver_class = FakeDriver
    test_faults = None
    test_faults_at_the_beginning = None
    test_image_faults = None
    test_cancel_of_what_comes_late = None

    @pytest.fixture
    def cloud(self, tmp_path):
        return FakeCloud(tmp_path / 'cloud')
