from kubernetes.client import CoreV1Api
import pytest

from tests.emulators.kubernetes import Emulator
from tests.fixtures.ending import endWith
from tests.unit.drivers.kubernetes.sites import Site, addPod


@pytest.fixture
def cluster(request):
    """With the parameter ``openshift``, it has projects."""
    return endWith(request, Emulator(
        openshift=getattr(request, 'param', '') == 'openshift'))


@pytest.fixture
def core(cluster):
    """What somebody else does there."""
    return CoreV1Api(cluster.client)


@pytest.fixture
def makeSite(request, zk_client, cluster, tmp_path):
    """:return: a function that makes a :class:`Site`."""
    def make(label='kind: pod', image='image-id: debian', user='admin',
             **options):
        kubeconfig = cluster.writeConfig(
            tmp_path / user, cluster.rights.makeToken(user))
        return endWith(request, Site(zk_client, cluster, label, image, {
            'kubeconfig_file': kubeconfig, **options}))
    return make


@pytest.fixture
def shared(cluster, core):
    """An existing namespace, in which there is a pod."""
    core.create_namespace({'metadata': {'name': 'ci'}})
    addPod(core, 'other', {'requests': {'cpu': '2'}})
    cluster.settle()
