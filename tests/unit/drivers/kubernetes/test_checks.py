"""What a cluster says of a configuration before it is used."""

from kubernetes.client import (
    NodeV1Api,
    RbacAuthorizationV1Api,
    SchedulingV1Api,
)
import pytest

from tests.emulators.kubernetes.kubelet import NODE
from tests.unit.drivers.kubernetes.sites import load

SHARED = 'kind: pod, namespace: ci'
DOCKER = 'kubernetes.io/dockerconfigjson'


def ask(site):
    """:return: (subject, name) -> what is wrong."""
    return {(check.subject, check.name): check.ask()
            for check in site.provider.getChecks()}


def findWrong(site):
    """:return: the only thing that is wrong, and what."""
    (subject, _), message = one = next(
        (item for item in ask(site).items() if item[1]), None)
    assert [message for message in ask(site).values() if message] == [
        one[1]]
    return subject, message


def addNamespace(core, name='ci'):
    core.create_namespace({'metadata': {'name': name}})


def addMachine(core, name, labels=None, **allocatable):
    core.create_node({'metadata': {'name': name, 'labels': labels or {}},
                      'status': {'allocatable': allocatable}})


@pytest.mark.parametrize('label', ['kind: pod', 'kind: namespace', SHARED])
def test_all_is_well(makeSite, core, label):
    addNamespace(core)
    found = ask(makeSite(label))
    assert not any(found.values())
    assert ('cluster', 'the current context') in found
    assert (('permission', 'create namespaces') in found) is (
        label != SHARED)


def test_each_is_asked_once(makeSite, zk_client):
    provider = load('''
- label: {name: one, kind: pod, image-id: a, node-selector: {a: b}}
- label: {name: two, kind: pod, image-id: b, node-selector: {a: b}}
- section: {name: cluster, connection: cluster}
- provider:
    name: cluster
    section: cluster
    labels: [name: one, name: two]
''', makeSite().connection, zk_client)
    checks = [check for check in provider.getChecks()
              if check.subject == 'node selector']
    assert [(check.name, check.used_by) for check in checks] == [
        ('a=b', 'label one'), ('a=b', 'label two')]
    assert len({check.question for check in checks}) == 1


def test_rights(makeSite, cluster):
    rbac = RbacAuthorizationV1Api(cluster.client)
    rbac.create_cluster_role({'metadata': {'name': 'launcher'}, 'rules': [
        {'apiGroups': [''], 'resources': ['*'], 'verbs': ['*']},
        {'apiGroups': ['rbac.authorization.k8s.io'], 'resources': ['roles'],
         'verbs': ['*']}]})
    rbac.create_cluster_role_binding({
        'metadata': {'name': 'launcher'},
        'roleRef': {'apiGroup': 'rbac.authorization.k8s.io',
                    'kind': 'ClusterRole', 'name': 'launcher'},
        'subjects': [{'kind': 'User', 'name': 'launcher'}]})
    subject, message = findWrong(makeSite(user='launcher'))
    assert subject == 'permission'
    assert message == (
        'Zuul may not create rolebindings everywhere. Bind a role to its '
        'user that allows "create" of "rolebindings" in the API group '
        'rbac.authorization.k8s.io')


def test_rights_in_openshift(makeSite):
    site = makeSite('kind: pod', use_openshift_projects='true')
    found = ask(site)
    assert not any(found.values())
    assert [name for subject, name in found if subject == 'permission'] == [
        'create projectrequests', 'list projects']


def test_namespace(makeSite, core):
    addNamespace(core, 'cia')
    subject, message = findWrong(makeSite(SHARED))
    assert subject == 'namespace'
    assert message == (
        'The cluster has no namespace "ci". Did you mean "cia"?')


def test_namespaces_that_one_may_not_look_at(makeSite, cluster):
    cluster.inject('GET', '.*/namespaces/ci', 403)
    assert not any(ask(makeSite(SHARED)).values())


def test_service_account(makeSite, core):
    addNamespace(core)
    core.create_namespaced_service_account(
        'ci', {'metadata': {'name': 'builder'}})
    assert findWrong(makeSite(f'{SHARED}, service-account: bilder')) == (
        'service account', 'Namespace ci has no service account "bilder". '
        'Did you mean "builder"?')


@pytest.mark.parametrize(('kind', 'message'), [
    (None, 'Namespace default has no secret "registry"'),
    ('Opaque', 'Secret "registry" of namespace default has the type Opaque'),
    (DOCKER, '')])
def test_pull_secrets(makeSite, core, kind, message):
    if kind:
        core.create_namespaced_secret('default', {
            'metadata': {'name': 'registry'}, 'type': kind,
            'stringData': {'.dockerconfigjson': '{}'}})
    found = ask(makeSite('kind: pod, image-pull-secrets: [name: registry]'))
    said = found['image pull secret', 'default/registry']
    assert said.startswith(message) and bool(said) is bool(message)


@pytest.mark.parametrize(('attribute', 'subject'), [
    ('priority-class', 'priority class'),
    ('runtime-class', 'runtime class')])
def test_classes(makeSite, cluster, attribute, subject):
    SchedulingV1Api(cluster.client).create_priority_class(
        {'metadata': {'name': 'low'}, 'value': 1})
    NodeV1Api(cluster.client).create_runtime_class(
        {'metadata': {'name': 'low'}, 'handler': 'low'})
    assert not any(ask(makeSite(f'kind: pod, {attribute}: low')).values())
    assert findWrong(makeSite(f'kind: pod, {attribute}: lo')) == (
        subject, f'The cluster has no {subject} "lo". Did you mean "low"?')


def test_node_selector(makeSite, core):
    addMachine(core, 'one', {'disk': 'ssd'})
    addMachine(core, 'two', {'zone': 'a'})
    assert not any(ask(makeSite(
        'kind: pod, node-selector: {disk: ssd}')).values())
    assert findWrong(makeSite('kind: pod, node-selector: {disk: ss}')) == (
        'node selector', 'No machine of the cluster has the label "disk=ss". '
        'Did you mean "disk=ssd"?')
    assert findWrong(makeSite(
        'kind: pod, node-selector: {disk: ssd, zone: a}')) == (
        'node selector', 'No machine of the cluster has all of these labels')


def test_size(makeSite, core):
    # The kubelet's is larger.
    core.delete_node(NODE)
    addMachine(core, 'one', cpu='4', memory='8Gi')
    addMachine(core, 'two', cpu='2', memory='16Gi')
    assert not any(ask(makeSite('kind: pod, cpu: 4, memory: 8Gi')).values())
    assert findWrong(makeSite('kind: pod, cpu: 3, memory: 9Gi')) == (
        'size', 'No machine of the cluster is large enough; the largest '
        'amounts are cores=4, ram=16384')


def test_quota(makeSite, core):
    addNamespace(core)
    core.create_namespaced_resource_quota('ci', {
        'metadata': {'name': 'limits'},
        'spec': {'hard': {'requests.cpu': '8', 'pods': '10'}}})
    core.create_namespaced_pod('ci', {
        'metadata': {'name': 'other'}, 'spec': {'containers': [{
            'name': 'a', 'image': 'a',
            'resources': {'requests': {'cpu': '6500m'}}}]}})
    # What is in use now may be free later.
    assert not any(ask(makeSite(f'{SHARED}, cpu: 8')).values())
    assert findWrong(makeSite(f'{SHARED}, cpu: 8.5')) == (
        'quota', 'One node needs 8.5 of "ci/requests.cpu", but quota limits '
        'of namespace ci allows 8')


def test_own_limits(makeSite):
    site = makeSite('kind: pod, cpu: 2')
    site.provider.resource_limits.update(cores=1, pods=1)
    assert findWrong(site) == (
        'quota', 'One node needs 2 of "cores", but "resource-limits" of the '
        'provider allow 1')
