"""The driver of AWS, at moto's, and Zuul's own."""

import pytest

from tests.fixtures.kit.aws import (
    FLEET,
    HOST,
    INSTANCE,
    AwsCloud,
    HurriedDriver,
    ZuulsHurriedDriver,
)
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

IMAGES = frozenset({
    Ability.IMAGES, Ability.IMPORT, Ability.LIMITS, Ability.NEEDS})


@pytest.mark.conformance
class AwsConformance(DriverConformance):
    driver_class = HurriedDriver
    abilities = frozenset()
    machine = None
    volume = ''

    @pytest.fixture
    def cloud(self):
        cloud = AwsCloud(self.machine, self.volume)
        yield cloud
        cloud.end()


class TestInstances(AwsConformance):
    abilities = IMAGES | {Ability.CONSOLE}
    machine = INSTANCE


class TestHosts(AwsConformance):
    machine = HOST


class TestFleet(AwsConformance):
    machine = FLEET


class ZuulsConformance(AwsConformance):
    driver_class = ZuulsHurriedDriver


class TestZuulsInstances(ZuulsConformance):
    abilities = IMAGES
    machine = INSTANCE


class TestZuulsHosts(ZuulsConformance):
    machine = HOST


class TestZuulsFleet(ZuulsConformance):
    machine = FLEET
    # Its fleets name a device of their own, whatever the image's is, and AWS
    # has to be told the size of a new volume.
    volume = ', volume-size: 8'
