"""The drivers for Kubernetes, Zuul's own and ours, at a cluster."""

import functools
import os

import pytest
from zuul.driver.kubernetes import KubernetesDriver as ZuulsDriver

from tests.fixtures.kit.kubernetes import (
    HurriedDriver,
    KubernetesCloud,
    NamespaceCloud,
    SharedNamespaceCloud,
)
from tests.fixtures.kubernetes import Emulator, RealCluster
from zuul_nodes.testing import DriverConformance

# Where tools/kubernetes has put the programs.
PROGRAMS = 'KUBERNETES_PROGRAMS'


def makeReal():
    if PROGRAMS not in os.environ:
        pytest.skip(f'{PROGRAMS} is not set')
    return RealCluster(os.environ[PROGRAMS])


class KubernetesConformance(DriverConformance):
    """
    :cvar makeCluster: a function.
    """

    driver_class = HurriedDriver
    abilities = frozenset()
    many = 5
    cloud_class = KubernetesCloud
    makeCluster = Emulator

    @pytest.fixture
    def cloud(self, tmp_path):
        cluster = type(self).makeCluster()
        yield self.cloud_class(cluster, tmp_path / 'kubeconfig')
        cluster.end()


class SharedNamespaceConformance(KubernetesConformance):
    cloud_class = SharedNamespaceCloud

    def test_full(self, makeSite, cloud):
        """A request that the cluster has refused waits until there is
        room."""
        cloud.setLimit(1)
        site = makeSite()
        site.start()
        first, _ = site.getFulfilled(site.request('label'))
        second = site.request('label')
        site.waitFor(lambda: any('failed' in entry
                                 for entry in site.journal.read()),
                     'the cluster has not refused the second pod')
        site.use(first)
        site.use(site.getFulfilled(second)[0])
        site.rest()


@pytest.mark.conformance
class TestPods(KubernetesConformance):
    pass


@pytest.mark.conformance
class TestNamespaces(KubernetesConformance):
    cloud_class = NamespaceCloud


@pytest.mark.conformance
class TestSharedNamespace(SharedNamespaceConformance):
    pass


@pytest.mark.conformance
class TestProjects(KubernetesConformance):
    makeCluster = functools.partial(Emulator, openshift=True)


@pytest.mark.conformance
class TestZuulsDriver(KubernetesConformance):
    driver_class = ZuulsDriver


@pytest.mark.kubernetes
class TestRealPods(KubernetesConformance):
    makeCluster = staticmethod(makeReal)


@pytest.mark.kubernetes
class TestRealSharedNamespace(SharedNamespaceConformance):
    makeCluster = staticmethod(makeReal)
