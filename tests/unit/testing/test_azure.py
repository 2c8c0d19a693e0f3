"""Zuul's own driver of Azure, at an emulated cloud."""

import pytest

from tests.fixtures.azure import Azure
from tests.fixtures.kit.azure import AzureCloud, ZuulsHurriedDriver
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance


@pytest.mark.conformance
class TestZuulsDriver(DriverConformance):
    driver_class = ZuulsHurriedDriver
    abilities = frozenset({
        Ability.IMAGES, Ability.LIMITS, Ability.NEEDS})

    @pytest.fixture
    def cloud(self):
        azure = Azure()
        yield AzureCloud(azure)
        azure.end()
