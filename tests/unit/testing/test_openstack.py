"""A driver that extends Zuul's, at an emulated cloud."""

import pytest

from tests.emulators.openstack import OpenStack
from tests.fixtures.kit.openstack import HurriedDriver, OpenstackCloud
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestOpenstack(DriverConformance):
    driver_class = HurriedDriver
    abilities = frozenset({
        Ability.IMAGES, Ability.IMPORT, Ability.SNAPSHOTS, Ability.CONSOLE,
        Ability.ZONES, Ability.LIMITS, Ability.NEEDS})

    @pytest.fixture
    def cloud(self, tmp_path, way):
        emulator = OpenStack()
        yield OpenstackCloud(
            emulator, tmp_path / 'clouds.yaml',
            'import-method: web-download' if way == 'import' else '')
        emulator.end()
