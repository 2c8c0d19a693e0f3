"""Drivers of Azure, ours and Zuul's own, at an emulated cloud."""

import pytest

from tests.emulators.azure import Azure
from tests.fixtures.kit.azure import (
    ZUULS_SECTION,
    AzureCloud,
    HurriedDriver,
    ZuulsHurriedDriver,
)
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

ABILITIES = frozenset({Ability.IMAGES, Ability.LIMITS, Ability.NEEDS})


@pytest.mark.conformance
class TestAzure(DriverConformance):
    driver_class = HurriedDriver
    abilities = ABILITIES | {Ability.ZONES}

    @pytest.fixture
    def cloud(self):
        azure = Azure()
        yield AzureCloud(azure)
        azure.end()


@pytest.mark.conformance
class TestZuulsDriver(DriverConformance):
    driver_class = ZuulsHurriedDriver
    abilities = ABILITIES
    # It does not ask whether they run.
    test_instance_that_is_stopped = None

    @pytest.fixture
    def cloud(self):
        azure = Azure()
        yield AzureCloud(azure, ZUULS_SECTION)
        azure.end()
