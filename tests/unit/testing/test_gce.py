"""The driver of Google Compute Engine, at an emulated cloud."""

import pytest

from tests.fixtures.gce import GCE
from tests.fixtures.kit.gce import (
    CONFIGURATION,
    Bucket,
    GceCloud,
    HurriedDriver,
)
from zuul_nodes.testing import DriverConformance
from zuul_nodes.testing.images import Storage


@pytest.mark.conformance
class TestGce(DriverConformance):
    driver_class = HurriedDriver

    @pytest.fixture
    def way(self, request):
        callspec = getattr(request.node, 'callspec', None)
        return callspec and callspec.params.get('way')

    @pytest.fixture
    def cloud(self, way):
        gce = GCE()
        yield GceCloud(gce, CONFIGURATION if way != 'import'
                    else CONFIGURATION.replace(
                        '- built\n', '- {name: built, image-format: tar.gz}'
                        '\n', 1))
        gce.end()

    @pytest.fixture
    def storage(self, cloud, tmp_path, way):
        storage = (Bucket(cloud.gce) if way == 'import'
                   else Storage(tmp_path / 'storage'))
        yield storage
        storage.end()
