"""The driver for OpenStack, at OpenStack's own services."""

import itertools

import pytest

from tests.emulators.openstackservices.session import getServices
from tests.fixtures.kit.openstackservices import (
    OpenstackServicesCloud,
    PatientDriver,
    bePatient,
)
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

_numbers = itertools.count()


@pytest.mark.openstack_services
class TestOpenstackServices(DriverConformance):
    driver_class = PatientDriver
    abilities = frozenset({Ability.IMAGES})
    many = 3

    @pytest.fixture(autouse=True)
    def patience(self, monkeypatch):
        bePatient(monkeypatch)

    @pytest.fixture
    def cloud(self, request, tmp_path_factory, tmp_path):
        services = getServices(request.config, tmp_path_factory)
        project = services.cloud.makeProject(f'kit-{next(_numbers)}')
        return OpenstackServicesCloud(project, tmp_path / 'clouds.yaml')
