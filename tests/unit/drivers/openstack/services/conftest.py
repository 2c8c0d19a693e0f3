"""Clouds, each as a project that has nothing when a test begins."""

import itertools

import openstack
import pytest

from tests.emulators.openstack import OpenStack
from tests.emulators.openstack.core import REGION
from tests.emulators.openstackservices.session import getServices

_numbers = itertools.count()


class EmulatedProject:
    """As :class:`tests.emulators.openstackservices.cloud.Project`."""

    def __init__(self, emulator):
        self.emulator = emulator
        self.client = openstack.connect(
            auth_url=emulator.keystone.url, region_name=REGION,
            **emulator.keystone.getCredentials())
        self.client.image.create_image(
            'base', data=b'image', container_format='bare',
            disk_format='raw')
        self.id = self.client.current_project_id

    def setQuota(self, service='compute', **limits):
        {'compute': self.emulator.nova.limits,
         'network': self.emulator.neutron.quota}[service].update(limits)


@pytest.fixture(scope='session')
def makeProject(request, tmp_path_factory):
    """:return: a function that makes a project at the real services."""
    services = getServices(request.config, tmp_path_factory)
    return lambda: services.cloud.makeProject(f'test-{next(_numbers)}')


@pytest.fixture(scope='session')
def shared(makeProject):
    return makeProject()


@pytest.fixture
def real(shared):
    yield shared
    shared.clear()


@pytest.fixture
def emulated():
    emulator = OpenStack()
    yield EmulatedProject(emulator)
    emulator.end()


@pytest.fixture(params=[
    'emulated', pytest.param('real', marks=pytest.mark.openstack_services)])
def project(request):
    """:return: a project at the emulator, and one at the real services."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(project):
    return project.client
