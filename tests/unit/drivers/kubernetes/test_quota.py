"""Limits of namespaces, and what is used of them."""

import copy

import pytest

from tests.unit.drivers.kubernetes.sites import load
from zuul_nodes.drivers import TemporaryError
from zuul_nodes.drivers.kubernetes import quota

SHARED = 'kind: pod, namespace: ci'
HALF = {'requests': {'cpu': '500m', 'memory': '1Gi'}}


@pytest.fixture
def namespaces(core):
    for name in ('ci', 'other'):
        core.create_namespace({'metadata': {'name': name}})


def limit(core, namespace='ci', name='quota', **hard):
    core.create_namespaced_resource_quota(namespace, {
        'metadata': {'name': name}, 'spec': {'hard': {
            key.replace('_', '.'): value for key, value in hard.items()}}})


def addPod(core, name, resources, namespace='ci'):
    core.create_namespaced_pod(namespace, {
        'metadata': {'name': name}, 'spec': {'containers': [
            {'name': 'a', 'image': 'a', 'resources': resources}]}})


def getLimits(site):
    site.endpoint.refreshQuotaLimits(True)
    return site.provider.getEndpointLimits().getResources()


def getUsed(site):
    return [instance.getQuotaInformation().getResources()
            for instance in site.endpoint.listInstances()
            if instance.kubernetes_type == 'pod']


def makeQuota(scopes=None, **hard):
    return {'spec': {'scopes': scopes}, 'status': {'hard': hard}}


def makeContainer(requests=None, limits=None, **attributes):
    return {'name': 'a', **attributes, 'resources': {
        'requests': requests or {}, 'limits': limits or {}}}


# What there may be

def test_limits_of_a_namespace(makeSite, core, namespaces):
    limit(core, pods='10', requests_cpu='6500m', limits_memory='16Gi')
    assert getLimits(makeSite(SHARED)) == {
        'ci/pods': 10, 'ci/requests.cpu': 6.5, 'ci/limits.memory': 16384}


def test_each_namespace_has_its_own(makeSite, core, namespaces, zk_client):
    limit(core, pods='10')
    limit(core, 'other', pods='20')
    limit(core, 'default', pods='30')
    site = makeSite(SHARED)
    site.endpoint.postConfig(load('''
- label: {name: two, kind: pod, image-id: debian, namespace: other}
- label: {name: three, kind: pod, image-id: debian}
- section: {name: cluster, connection: cluster}
- provider:
    name: cluster
    section: cluster
    labels: [name: two, name: three]
''', site.connection, zk_client))
    assert getLimits(site) == {'ci/pods': 10, 'other/pods': 20}


def test_the_least_of_several_quotas_counts():
    assert quota.read([
        makeQuota(pods='10', cpu='4', **{'requests.cpu': '5'}),
        makeQuota(pods='8', **{'requests.cpu': '6'})]) == {
            'pods': 8, 'requests.cpu': 4}


@pytest.mark.parametrize('other', [
    makeQuota(['BestEffort'], pods='1'),
    {'spec': {'scopeSelector': {'matchExpressions': []}},
     'status': {'hard': {'pods': '1'}}},
    {'spec': {'hard': {'pods': '1'}}},
    makeQuota(secrets='1', services='0', **{
        'requests.storage': '1Gi', 'count/secrets': '1',
        'gold.storageclass.storage.k8s.io/requests.storage': '1Gi'})])
def test_what_does_not_limit_pods(other):
    assert quota.read([other]) == {}


def test_limits_are_asked_for_once(makeSite, core, namespaces):
    site = makeSite(SHARED)
    assert site.endpoint.refreshQuotaLimits(False)
    limit(core, pods='1')
    assert not site.endpoint.refreshQuotaLimits(False)
    assert site.provider.getEndpointLimits().getResources() == {}


@pytest.mark.parametrize('status', [403, 404])
def test_limits_that_one_may_not_see(makeSite, cluster, core, namespaces,
                                     status):
    """Those of other namespaces are known all the same."""
    limit(core, pods='1')
    limit(core, 'other', pods='2')
    site = makeSite(SHARED)
    site.endpoint.namespaces |= {'other'}
    cluster.inject('GET', '.*/ci/resourcequotas', status, times=9)
    assert getLimits(site) == {'other/pods': 2}


def test_limits_when_the_cluster_does_not_answer(makeSite, cluster, core,
                                                 namespaces):
    limit(core, pods='1')
    site = makeSite(SHARED)
    known = getLimits(site)
    cluster.inject('GET', '.*/resourcequotas', 500)
    with pytest.raises(TemporaryError):
        site.endpoint.refreshQuotaLimits(True)
    assert site.provider.getEndpointLimits().getResources() == known


# What is used

def test_what_a_node_takes(makeSite, core, namespaces):
    site = makeSite(f'{SHARED}, cpu: 500m, cpu-limit: 2, memory: 1Gi')
    needs = {
        'pods': 1, 'cores': 0.5, 'ram': 1024, 'ci/pods': 1,
        'ci/count/pods': 1, 'ci/requests.cpu': 0.5, 'ci/limits.cpu': 2,
        'ci/requests.memory': 1024, 'ci/limits.memory': 1024}
    assert site.provider.getQuotaForLabel(
        site.label).getResources() == needs
    node = site.makeNode()
    site.create(node)
    assert node.quota.getResources() == needs
    assert getUsed(site) == [needs]


def test_what_others_take(makeSite, core, namespaces):
    addPod(core, 'one', HALF)
    addPod(core, 'two', {}, 'other')
    assert getUsed(makeSite(SHARED)) == [{
        'pods': 1, 'cores': 0.5, 'ram': 1024, 'ci/pods': 1,
        'ci/count/pods': 1, 'ci/requests.cpu': 0.5,
        'ci/requests.memory': 1024}, {'pods': 1}]


def test_pods_that_have_ended_are_counted_only(makeSite, cluster, core,
                                               namespaces):
    addPod(core, 'done', HALF)
    addPod(core, 'done', HALF, 'other')
    cluster.settle()
    for namespace in ('ci', 'other'):
        core.patch_namespaced_pod_status(
            'done', namespace, {'status': {'phase': 'Succeeded'}})
    assert getUsed(makeSite(SHARED)) == [{'ci/count/pods': 1}]


def test_containers_that_run_before():
    spec = {
        'containers': [makeContainer({'cpu': 1}, {'cpu': 2})],
        'initContainers': [
            makeContainer({'cpu': '500m'}, {'cpu': 1}),
            makeContainer({'cpu': '250m'}, {'cpu': 3},
                          restartPolicy='Always'),
            makeContainer({'cpu': 2})]}
    before = copy.deepcopy(spec)
    used = quota.measure(spec)
    assert (used['requests.cpu'], used['limits.cpu']) == (2.25, 5)
    assert spec == before
