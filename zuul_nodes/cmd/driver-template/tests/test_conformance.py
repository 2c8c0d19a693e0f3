"""The conformance tests: nodes and images in a real launcher, with a fault
at each call."""

import pathlib
from collections.abc import Iterable

import pytest
from zuul_nodes.testing import DriverConformance

from zuul_acme import AcmeDriver
from zuul_acme.toycloud import STOCK_IMAGE, ToyCloud

CONFIGURATION = f'''
- image: {{name: stock, type: cloud}}
- image: {{name: built, type: zuul}}
- flavor: {{name: small}}
- label: {{name: label, image: stock, flavor: small}}
- label: {{name: built, image: built, flavor: small}}
- section:
    name: acme
    connection: cloud
    # The test does not log in to its nodes.
    label-defaults: {{host-key-checking: false}}
    images:
      - {{name: stock, image-id: {STOCK_IMAGE}}}
      - built
    flavors: [small]
- provider:
    name: acme
    section: acme
    labels: [label, built]
'''


class Cloud:
    """The test's access to the cloud."""

    configuration = CONFIGURATION

    def __init__(self, path: pathlib.Path) -> None:
        self.connection = {'path': path}
        self.toy = ToyCloud(path)

    def list(self) -> Iterable[str]:
        return [*(server['name'] for server in self.toy.listServers()),
                *(image['id'] for image in self.toy.listImages())]

    def addForeign(self) -> None:
        self.toy.createServer('not-of-zuul', STOCK_IMAGE, 'small', {})

    def setLimit(self, number: int) -> None:
        self.toy.setLimit(number)


class TestAcme(DriverConformance):
    driver_class = AcmeDriver

    @pytest.fixture
    def cloud(self, tmp_path: pathlib.Path) -> Cloud:
        return Cloud(tmp_path / 'cloud')
