"""The drivers for Kubernetes, Zuul's own and ours, at a cluster."""

import functools
import os

import pytest

from tests.emulators.kubernetes import Emulator, RealCluster
from tests.fixtures.kit.kubernetes import (
    HurriedDriver,
    KubernetesCloud,
    NamespaceCloud,
    SharedNamespaceCloud,
    ZuulsDriver,
)
from zuul_nodes.drivers import Ability
from zuul_nodes.testing import DriverConformance

# Where tools/kubernetes has put the programs.
PROGRAMS = 'KUBERNETES_PROGRAMS'


def makeReal():
    if PROGRAMS not in os.environ:
        pytest.skip(f'{PROGRAMS} is not set')
    return RealCluster(os.environ[PROGRAMS])


def getRefusals(site):
    """:return: a list of the errors with which the cluster has refused pods.
    """
    return [entry['error'] for entry in site.journal.read(everything=True)
            if entry.get('failed') == 'createPod']


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
    abilities = frozenset({Ability.LIMITS})

    def test_more_than_the_limit(self, makeSite, cloud):
        """A request that there will never be room for fails, and the cluster
        is not asked for it."""
        cloud.setLimit(1)
        site = makeSite()
        site.start()
        request = site.getServed(site.request('label', 'label'))
        assert request.state == request.State.FAILED
        assert not any(call.startswith('create')
                       for call in site.journal.getCalls())
        site.cancel(request.uuid)
        site.use(site.getFulfilled(site.request('label'))[0])
        site.rest()

    def test_another_namespace(self, makeSite, cloud):
        """It has room, though this one has not."""
        cloud.setLimit(1)
        site = makeSite()
        site.start()
        first, _ = site.getFulfilled(site.request('label'))
        second = site.request('label')
        site.use(site.getFulfilled(site.request('other'))[0])
        site.use(first)
        site.use(site.getFulfilled(second)[0])
        site.rest()

    def test_full(self, makeSite, cloud):
        """A request that the cluster has refused, by a limit that was not
        known, waits until there is room."""
        site = makeSite()
        site.start()
        first, _ = site.getFulfilled(site.request('label'))
        cloud.setLimit(1)
        second = site.request('label')
        site.waitFor(lambda: getRefusals(site),
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

    def test_limits(self, makeSite, cloud):
        """The cluster refuses nothing, not when one takes the place of
        another either; a real one counts a moment later."""
        sites = []
        super().test_limits(
            lambda: sites.append(makeSite()) or sites[0], cloud)
        assert getRefusals(sites[0]) == []


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
