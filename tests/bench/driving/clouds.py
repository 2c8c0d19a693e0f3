"""Clouds that count how often they are called, each with a driver."""

import contextlib

from zuul.driver.kubernetes import KubernetesDriver as ZuulsKubernetesDriver
from zuul.driver.openstack import OpenstackDriver as ZuulsOpenstackDriver

from tests.emulators.gce import GCE
from tests.emulators.kubernetes import Emulator
from tests.emulators.openstack import OpenStack
from tests.fixtures.kit.aws import AwsCloud
from tests.fixtures.kit.aws import ZuulsDriver as ZuulsAwsDriver
from tests.fixtures.kit.fake import FakeCloud
from tests.fixtures.kit.gce import GceCloud
from tests.fixtures.kit.kubernetes import KubernetesCloud
from tests.fixtures.kit.openstack import OpenstackCloud
from zuul_nodes.drivers.aws import AwsDriver
from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.drivers.kubernetes import KubernetesDriver
from zuul_nodes.drivers.openstack import OpenstackDriver


def _countCalls(launcher):
    """:return: how often adapters were called."""
    return sum(endpoint.calls.numbers.total()
               for endpoint in launcher.getEndpoints().values())


@contextlib.contextmanager
def makeAws(directory, driver_class=AwsDriver):
    cloud = AwsCloud()
    # For whoever has many nodes.
    cloud.aws.quotas.update(dict.fromkeys(cloud.aws.quotas, 1_000_000.0))
    try:
        yield cloud, driver_class, lambda launcher: len(cloud.aws.paths)
    finally:
        cloud.end()


def makeZuulsAws(directory):
    return makeAws(directory, ZuulsAwsDriver)


@contextlib.contextmanager
def makeFake(directory):
    """
    :return: the cloud, its driver's class, and what gives for a launcher
        how often the cloud was called.
    """
    yield FakeCloud(directory / 'cloud'), FakeDriver, _countCalls


@contextlib.contextmanager
def makeGce(directory):
    emulator = GCE()
    # For whoever has many nodes.
    for limits in (emulator.quota.regional, emulator.quota.overall):
        limits.update(dict.fromkeys(limits, 1_000_000))
    try:
        yield GceCloud(emulator), GceDriver, lambda launcher: (
            emulator.calls.total())
    finally:
        emulator.end()


@contextlib.contextmanager
def makeKubernetes(directory, driver_class=KubernetesDriver):
    cluster = Emulator()
    try:
        yield (KubernetesCloud(cluster, directory / 'kubeconfig'),
               driver_class, lambda launcher: len(cluster.calls))
    finally:
        cluster.end()


def makeZuulsKubernetes(directory):
    return makeKubernetes(directory, ZuulsKubernetesDriver)


@contextlib.contextmanager
def makeOpenstack(directory, driver_class=OpenstackDriver):
    class FoundDriver(driver_class):
        def getConnection(self, name, config):
            connection = super().getConnection(name, config)
            # Zuul gives a string where openstacksdk wants a list.
            connection.config_files = [config['client_config_file']]
            return connection
    emulator = OpenStack()
    try:
        yield (OpenstackCloud(emulator, directory / 'clouds.yaml'),
               FoundDriver, lambda launcher: len(emulator.calls))
    finally:
        emulator.end()


def makeZuulsOpenstack(directory):
    return makeOpenstack(directory, ZuulsOpenstackDriver)


CLOUDS = {
    'aws': makeAws,
    "aws, Zuul's": makeZuulsAws,
    'fake': makeFake,
    'gce': makeGce,
    'kubernetes': makeKubernetes,
    "kubernetes, Zuul's": makeZuulsKubernetes,
    'openstack': makeOpenstack,
    "openstack, Zuul's": makeZuulsOpenstack,
}
