"""The drivers for Kubernetes, Zuul's own and ours, at a cluster."""

import os

import pytest
from zuul.driver.kubernetes import KubernetesDriver as ZuulsDriver

from tests.fixtures.kit.kubernetes import HurriedDriver, KubernetesCloud
from tests.fixtures.kubernetes import Emulator, RealCluster
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

# Where tools/kubernetes has put the programs.
PROGRAMS = 'KUBERNETES_PROGRAMS'


class KubernetesConformance(DriverConformance):
    """
    :cvar dict options: of the cloud.
    """

    driver_class = HurriedDriver
    abilities = frozenset()
    many = 5
    options = {}

    def makeCluster(self):
        return Emulator()

    @pytest.fixture
    def cloud(self, tmp_path):
        cluster = self.makeCluster()
        yield KubernetesCloud(
            cluster, tmp_path / 'kubeconfig', **self.options)
        cluster.end()


@pytest.mark.conformance
class TestPods(KubernetesConformance):
    pass


@pytest.mark.conformance
class TestNamespaces(KubernetesConformance):
    options = {'kind': 'namespace'}


@pytest.mark.conformance
class TestSharedNamespace(KubernetesConformance):
    abilities = frozenset({Ability.LIMITS})
    options = {'shared': True}


@pytest.mark.conformance
class TestProjects(KubernetesConformance):

    def makeCluster(self):
        return Emulator(openshift=True)


@pytest.mark.conformance
class TestZuulsDriver(KubernetesConformance):
    driver_class = ZuulsDriver


@pytest.mark.kubernetes
class TestRealPods(KubernetesConformance):

    def makeCluster(self):
        if PROGRAMS not in os.environ:
            pytest.skip(f'{PROGRAMS} is not set')
        return RealCluster(os.environ[PROGRAMS])


@pytest.mark.kubernetes
class TestRealSharedNamespace(TestRealPods):
    abilities = frozenset({Ability.LIMITS})
    options = {'shared': True}
