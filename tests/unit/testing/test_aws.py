"""A driver that is Zuul's own, at moto's AWS."""

import pytest

from tests.fixtures.kit.aws import (
    FLEET,
    HOST,
    INSTANCE,
    AwsCloud,
    HurriedDriver,
)
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class AwsConformance(DriverConformance):
    driver_class = HurriedDriver
    abilities = frozenset()
    machine = None

    @pytest.fixture
    def cloud(self):
        cloud = AwsCloud(self.machine)
        yield cloud
        cloud.end()


class TestInstances(AwsConformance):
    abilities = frozenset({
        Ability.IMAGES, Ability.IMPORT, Ability.LIMITS, Ability.NEEDS})
    machine = INSTANCE


class TestHosts(AwsConformance):
    machine = HOST


class TestFleet(AwsConformance):
    machine = FLEET
