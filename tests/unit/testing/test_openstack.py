"""A driver that is Zuul's own, at an emulated cloud."""

import openstack
import pytest

from tests.fixtures.openstack import OpenStack
from tests.fixtures.openstack.core import REGION
from tests.unit.testing.hurried import HurriedDriver
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

CONFIGURATION = '''
- image: {name: image, type: cloud}
- image: {name: built, type: zuul}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- label: {name: built, image: built, flavor: small}
- section:
    name: section
    connection: cloud
    images: [{name: image, image-id: base}, built]
    flavors: [{name: small, flavor-name: m1.small}]
- provider:
    name: provider
    section: section
    floating-ip-cleanup: true
    images: [image, built]
    labels:
      - {name: label, host-key-checking: false}
      - {name: built, host-key-checking: false}
'''


class EmulatedCloud:
    configuration = CONFIGURATION

    def __init__(self, emulator, clouds_yaml):
        self.emulator = emulator
        self._addImage('base')
        self.connection = {
            'cloud': 'emulator', 'rate': 1000,
            'client_config_file': emulator.writeConfig(clouds_yaml)}

    def _addImage(self, name):
        """Have an image in the cloud, with this for its name and its id."""
        with openstack.connect(
                auth_url=self.emulator.keystone.url, region_name=REGION,
                **self.emulator.keystone.getCredentials()) as client:
            image = client.image.create_image(
                name, id=name, data=b'image', container_format='bare',
                disk_format='raw', allow_duplicates=True)
        assert image.id == name

    def list(self):
        with self.emulator.lock:
            return [
                name for things in (
                    self.emulator.nova.servers, self.emulator.glance.images,
                    self.emulator.neutron.floatingips,
                    self.emulator.cinder.volumes)
                for name in things]


@pytest.mark.conformance
class TestOpenstack(DriverConformance):
    driver_class = HurriedDriver
    abilities = frozenset({Ability.IMAGES})
    many = 5

    @pytest.fixture
    def cloud(self, tmp_path):
        emulator = OpenStack()
        yield EmulatedCloud(emulator, tmp_path / 'clouds.yaml')
        emulator.end()
