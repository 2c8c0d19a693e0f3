"""The emulated API server does what a real one does.

Each test is run with both; the real one is what ``tools/kubernetes`` builds.
"""

import functools
import itertools
import json
import os

import kubernetes
from kubernetes.client import ApiException
import pytest

from tests.emulators.kubernetes import Behaviour, Emulator, RealCluster
from tests.fixtures import waiting
from zuul_nodes.drivers import PermanentError, QuotaError
from zuul_nodes.drivers.kubernetes import quota
from zuul_nodes.drivers.kubernetes.errors import translate

# Where tools/kubernetes has put the programs.
PROGRAMS = 'KUBERNETES_PROGRAMS'
PATIENCE = 120

waitFor = functools.partial(waiting.waitFor, timeout=PATIENCE)
NUMBERS = itertools.count()
SPEC = {'containers': [{'name': 'shell', 'image': 'debian:12'}]}


def makeReal():
    if PROGRAMS not in os.environ:
        pytest.skip(f'{PROGRAMS} is not set')
    return RealCluster(os.environ[PROGRAMS])


@pytest.fixture(scope='module', params=[
    Emulator, pytest.param(makeReal, marks=pytest.mark.kubernetes)],
    ids=['emulator', 'real'])
def server(request):
    server = request.param()
    yield server
    server.end()


@pytest.fixture
def core(server):
    server.kubelet.behaviour = Behaviour.RUN
    server.kubelet.removes = True
    return kubernetes.client.CoreV1Api(server.client)


@pytest.fixture
def place(core):
    """:return: the name of a namespace with its account."""
    name = f'test-{next(NUMBERS)}'
    core.create_namespace({'metadata': {'name': name}})
    # Before, pods are refused.
    waitFor(lambda: (account := read(
        core.read_namespaced_service_account, 'default', name))
        and account.secrets)
    return name


def read(method, *args):
    """:return: a thing, or None if there is none."""
    try:
        return method(*args)
    except ApiException as error:
        assert error.status == 404, error
        return None


def getRefusal(method, *args, **kwargs):
    """:return: status and reason of a call that is refused."""
    with pytest.raises(ApiException) as caught:
        method(*args, **kwargs)
    found = json.loads(caught.value.body)
    assert (found['kind'], found['code']) == ('Status', caught.value.status)
    return found['code'], found['reason']


def makePod(core, place, name='pod', labels=None, **spec):
    return core.create_namespaced_pod(place, {
        'metadata': {'name': name, 'labels': labels or {}},
        'spec': {**SPEC, **spec}})


def test_running(core, place):
    assert makePod(core, place).status.phase == 'Pending'
    pod = waitFor(lambda: (
        pod := core.read_namespaced_pod('pod', place)
    ).status.phase == 'Running' and pod)
    assert pod.status.pod_ip
    assert pod.spec.node_name
    assert pod.status.container_statuses[0].state.running
    assert {each.type: each.status for each in pod.status.conditions}[
        'Ready'] == 'True'


def test_names(core, place):
    makePod(core, place)
    assert getRefusal(makePod, core, place) == (409, 'AlreadyExists')
    assert getRefusal(makePod, core, place, 'Not_A_Name') == (422, 'Invalid')
    assert getRefusal(makePod, core, place, 'other', {'key': 'a value'}) == (
        422, 'Invalid')
    assert getRefusal(makePod, core, place, 'other', containers=[]) == (
        422, 'Invalid')
    assert getRefusal(core.read_namespaced_pod, 'other', place) == (
        404, 'NotFound')
    assert getRefusal(makePod, core, 'no-such-place') == (404, 'NotFound')


@pytest.mark.parametrize('kind', ['labels', 'annotations'])
@pytest.mark.parametrize(('key', 'is_one'), [
    ('a', True), ('A.b_c-d', True), ('example.com/a', True), ('a b', False),
    ('-a', False), ('/a', False), ('a..b/c', False), ('a/b/c', False),
    ('a_b/c', False), ('a' * 63, True), ('a' * 64, False),
    ('b' * 63 + '.c/a', True), ('ä', False)])
def test_keys(core, place, kind, key, is_one):
    if is_one:
        makeSecret(core, place, {kind: {key: 'a'}})
        return
    assert getRefusal(makeSecret, core, place, {kind: {key: 'a'}}) == (
        422, 'Invalid')


@pytest.mark.parametrize(('value', 'is_one'), [
    ('', True), ('A.b_c-d', True), ('a' * 63, True), ('a' * 64, False),
    ('a b', False), ('a/b', False), ('-a', False), ('a.', False),
    ('ä', False), ('a\n', False)])
def test_values_of_labels(core, place, value, is_one):
    makeSecret(core, place, {'name': 'any', 'annotations': {'a': value}})
    if is_one:
        makeSecret(core, place, {'labels': {'a': value}})
        return
    assert getRefusal(makeSecret, core, place, {'labels': {'a': value}}) == (
        422, 'Invalid')


def test_annotations_that_are_too_long(core, place):
    longest = 'a' * (256 * 1024 - 1)
    assert getRefusal(makeSecret, core, place, {
        'annotations': {'a': f'{longest}a'}}) == (422, 'Invalid')
    makeSecret(core, place, {'annotations': {'a': longest}})


@pytest.mark.parametrize('names', [
    ['a_b'], ['A'], ['a.b'], ['a' * 64], ['a', 'a'], ['']])
def test_names_of_containers(core, place, names):
    assert getRefusal(makePod, core, place, containers=[
        {'name': name, 'image': 'debian:12'} for name in names]) == (
            422, 'Invalid')


def makeSecret(core, place, metadata):
    return core.create_namespaced_secret(
        place, {'metadata': {'name': 'secret', **metadata}})


def test_conflict(core, place):
    """Who has an old object can not overwrite a newer one."""
    thing = core.create_namespaced_secret(
        place, {'metadata': {'name': 'secret'}, 'stringData': {'a': 'b'}})
    core.patch_namespaced_secret(
        'secret', place, {'metadata': {'labels': {'new': 'yes'}}})
    assert getRefusal(core.replace_namespaced_secret, 'secret', place,
                      thing) == (409, 'Conflict')


def test_precondition(core, place):
    """What has the name only is not deleted."""
    makePod(core, place)
    body = {'preconditions': {'uid': 'another'}}
    assert getRefusal(core.delete_namespaced_pod, 'pod', place,
                      body=body) == (409, 'Conflict')
    assert core.read_namespaced_pod('pod', place)


def test_pages(core, place):
    """A list is of one moment, and selected by labels."""
    for number in range(5):
        makePod(core, place, f'pod{number}', {'mine': 'yes'})
    makePod(core, place, 'other')

    def list_(token=None):
        return core.list_namespaced_pod(
            place, label_selector='mine=yes', limit=2, _continue=token)
    first = list_()
    assert [pod.metadata.name for pod in first.items] == ['pod0', 'pod1']
    core.delete_namespaced_pod('pod4', place, grace_period_seconds=0)
    second = list_(first.metadata._continue)
    third = list_(second.metadata._continue)
    assert [pod.metadata.name for pod in second.items + third.items] == [
        'pod2', 'pod3', 'pod4']
    assert not third.metadata._continue


def test_watch(server, core, place):
    """It begins where the list ends."""
    server.kubelet.behaviour = Behaviour.HOLD
    makePod(core, place, 'before')
    version = core.list_namespaced_pod(place).metadata.resource_version
    makePod(core, place, 'after', {'mine': 'yes'})
    core.delete_namespaced_pod('after', place, grace_period_seconds=0)
    seen = []
    for event in kubernetes.watch.Watch().stream(
            core.list_namespaced_pod, place, resource_version=version,
            label_selector='mine=yes', timeout_seconds=PATIENCE):
        seen.append((event['type'], event['object'].metadata.name))
        if event['type'] == 'DELETED':
            break
    assert seen[0] == ('ADDED', 'after')
    assert {name for _, name in seen} == {'after'}


def test_end_of_namespace(server, core, place):
    """It is there until its pods are, and takes no new ones."""
    server.kubelet.removes = False
    makePod(core, place)
    waitFor(lambda: core.read_namespaced_pod('pod', place).spec.node_name)
    core.delete_namespace(place)
    assert waitFor(lambda: core.read_namespaced_pod(
        'pod', place).metadata.deletion_timestamp)
    assert core.read_namespace(place).status.phase == 'Terminating'
    assert getRefusal(makePod, core, place, 'new') == (403, 'Forbidden')
    server.kubelet.removes = True
    waitFor(lambda: not read(core.read_namespace, place))


def test_owners(core, place):
    """What belongs to a pod goes with it."""
    pod = makePod(core, place)
    core.create_namespaced_service_account(place, {'metadata': {
        'name': 'account', 'ownerReferences': [{
            'apiVersion': 'v1', 'kind': 'Pod', 'name': 'pod',
            'uid': pod.metadata.uid}]}})
    core.delete_namespaced_pod('pod', place)
    waitFor(lambda: not read(
        core.read_namespaced_service_account, 'account', place))


def test_owner_is_gone(core, place):
    """What belongs to nothing does not stay."""
    pod = makePod(core, place)
    core.delete_namespaced_pod('pod', place, grace_period_seconds=0)
    waitFor(lambda: not read(core.read_namespaced_pod, 'pod', place))
    core.create_namespaced_secret(place, {'metadata': {
        'name': 'secret', 'ownerReferences': [{
            'apiVersion': 'v1', 'kind': 'Pod', 'name': 'pod',
            'uid': pod.metadata.uid}]}})
    waitFor(lambda: not read(core.read_namespaced_secret, 'secret', place))


def test_end_of_account(core, place):
    """Its tokens go with it."""
    core.create_namespaced_service_account(
        place, {'metadata': {'name': 'worker'}})
    makeTokenSecret(core, place)
    core.delete_namespaced_service_account('worker', place)
    waitFor(lambda: not read(core.read_namespaced_secret, 'worker', place))


def test_status(server, core, place):
    """Who writes a status writes the labels too."""
    server.kubelet.behaviour = Behaviour.HOLD
    makePod(core, place, labels={'mine': 'yes'})
    waitFor(lambda: core.read_namespaced_pod('pod', place).spec.node_name)
    core.patch_namespaced_pod_status('pod', place, {
        'status': {'message': 'here'}})
    pod = core.read_namespaced_pod('pod', place)
    assert (pod.metadata.labels, pod.status.message) == (
        {'mine': 'yes'}, 'here')
    core.replace_namespaced_pod_status('pod', place, {
        'metadata': {'name': 'pod'}, 'status': {'phase': 'Pending'}})
    assert not core.read_namespaced_pod('pod', place).metadata.labels


def test_classes(server):
    """What pods may name exists in the whole cluster."""
    scheduling = kubernetes.client.SchedulingV1Api(server.client)
    scheduling.create_priority_class(
        {'metadata': {'name': 'low'}, 'value': 1})
    assert 'low' in {
        each.metadata.name for each in scheduling.list_priority_class().items}
    nodes = kubernetes.client.NodeV1Api(server.client)
    nodes.create_runtime_class({'metadata': {'name': 'box'},
                                'handler': 'box'})
    assert [each.metadata.name
            for each in nodes.list_runtime_class().items] == ['box']


@pytest.mark.parametrize('behaviour, check', [
    (Behaviour.UNSCHEDULABLE, lambda pod: pod.status.conditions and (
        pod.status.conditions[0].reason == 'Unschedulable')),
    (Behaviour.NO_IMAGE, lambda pod: pod.status.container_statuses and (
        pod.status.container_statuses[0].state.waiting.reason
        == 'ErrImagePull')),
    (Behaviour.FAIL, lambda pod: pod.status.phase == 'Failed')],
    ids=lambda value: getattr(value, 'name', ''))
def test_trouble(server, core, place, behaviour, check):
    server.kubelet.behaviour = behaviour
    makePod(core, place)
    waitFor(lambda: check(core.read_namespaced_pod('pod', place)))


def test_quota(core, place):
    core.create_namespaced_resource_quota(place, {
        'metadata': {'name': 'quota'}, 'spec': {'hard': {
            'pods': '1', 'requests.cpu': '2'}}})
    waitFor(lambda: core.read_namespaced_resource_quota(
        'quota', place).status.hard)

    def make(name, cpu):
        container = {**SPEC['containers'][0], 'resources': {
            'requests': {'cpu': cpu}}}
        return makePod(core, place, name, containers=[container])
    assert getRefusal(makePod, core, place) == (403, 'Forbidden')
    assert getRefusal(make, 'big', '2500m') == (403, 'Forbidden')
    make('pod', '2')
    assert getRefusal(make, 'second', '0') == (403, 'Forbidden')
    waitFor(lambda: core.read_namespaced_resource_quota(
        'quota', place).status.used['pods'] == '1')
    core.delete_namespaced_pod('pod', place)
    waitFor(lambda: not read(core.read_namespaced_pod, 'pod', place))


def makeContainer(requests=None, limits=None):
    return {**SPEC['containers'][0], 'resources': {
        'requests': requests or {}, 'limits': limits or {}}}


def test_what_is_used_of_quota(server, core, place):
    """It is what the driver reckons with."""
    resources = ('pods', 'count/pods', 'cpu', 'requests.memory',
                 'requests.ephemeral-storage', 'limits.cpu', 'limits.memory',
                 'limits.ephemeral-storage', 'requests.example.com/license')
    core.create_namespaced_resource_quota(place, {
        'metadata': {'name': 'quota'}, 'spec': {'hard': dict.fromkeys(
            resources, '99Gi')}})

    def getUsed():
        status = core.read_namespaced_resource_quota('quota', place).status
        return quota.read([{'spec': {}, 'status': {'hard': status.used}}])
    waitFor(getUsed)
    license = {'example.com/license': '2'}
    spec = {
        'containers': [
            makeContainer({'cpu': '250m', 'memory': '1.5Gi'},
                          {'cpu': '2', 'memory': '2Gi'}),
            {**makeContainer(None, {
                'cpu': '1500m', 'memory': '500M', 'ephemeral-storage': '1Gi',
                **license}), 'name': 'second'}],
        'initContainers': [{**makeContainer(
            {'cpu': '10m', 'memory': '3Gi'}, {'cpu': '4', 'memory': '3Gi'}),
            'name': 'before'}]}
    taken = {resource: amount for resource, amount
             in quota.measure(spec).items()
             if resource != 'limits.example.com/license'}
    assert len(taken) == len(resources)
    server.kubelet.behaviour = Behaviour.HOLD
    makePod(core, place, **spec)
    waitFor(lambda: getUsed() == taken)
    server.kubelet.behaviour = Behaviour.FAIL
    waitFor(lambda: getUsed() == dict.fromkeys(taken, 0) | quota.measure(
        spec, has_ended=True))


def test_refusals_of_quota(core, place):
    core.create_namespaced_resource_quota(place, {
        'metadata': {'name': 'quota'}, 'spec': {'hard': {
            'pods': '2', 'requests.cpu': '2500m', 'cpu': '3'}}})
    waitFor(lambda: core.read_namespaced_resource_quota(
        'quota', place).status.hard)

    def refuse(name, cpu):
        with pytest.raises(ApiException) as caught:
            makePod(core, place, name, containers=[
                makeContainer(cpu and {'cpu': cpu})])
        return translate(caught.value)
    makePod(core, place, containers=[makeContainer({'cpu': '2'})])
    # There may be room later.
    error = refuse('later', '1')
    assert type(error) is QuotaError
    assert ('exceeded quota: quota, requested: requests.cpu=1, used: '
            'requests.cpu=2, limited: requests.cpu=2500m') in str(error)
    # There never is.
    error = refuse('never', '4')
    assert type(error) is PermanentError
    assert ('exceeded quota: quota, requested: cpu=4,requests.cpu=4, used: '
            'cpu=2,requests.cpu=2, limited: cpu=3,requests.cpu=2500m'
            ) in str(error)
    error = refuse('unspecified', None)
    assert type(error) is PermanentError
    assert 'failed quota: quota: must specify cpu,requests.cpu' in str(error)


def makeTokenSecret(core, place):
    """:return: what is in the secret of the account "worker"."""
    core.create_namespaced_secret(place, {
        'type': 'kubernetes.io/service-account-token', 'metadata': {
            'name': 'worker', 'annotations': {
                'kubernetes.io/service-account.name': 'worker'}}})
    return waitFor(
        lambda: core.read_namespaced_secret('worker', place).data)


def test_account(server, core, place):
    """A token opens what the role of its account says, and no more."""
    core.create_namespaced_service_account(
        place, {'metadata': {'name': 'worker'}})
    data = makeTokenSecret(core, place)
    assert {'ca.crt', 'token'} <= set(data)
    token = core.create_namespaced_service_account_token(
        'worker', place, {'spec': {'expirationSeconds': 3600}}).status.token
    worker = kubernetes.client.CoreV1Api(server.makeClient(token))
    assert getRefusal(worker.list_namespaced_pod, place) == (
        403, 'Forbidden')
    rbac = kubernetes.client.RbacAuthorizationV1Api(server.client)
    rbac.create_namespaced_role(place, {
        'metadata': {'name': 'role'}, 'rules': [{
            'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list']}]})
    rbac.create_namespaced_role_binding(place, {
        'metadata': {'name': 'role'},
        'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role',
                    'name': 'role'},
        'subjects': [{'kind': 'ServiceAccount', 'name': 'worker',
                      'namespace': place}]})
    auth = kubernetes.client.AuthorizationV1Api(server.makeClient(token))

    def may(verb):
        return auth.create_self_subject_access_review({'spec': {
            'resourceAttributes': {
                'namespace': place, 'verb': verb, 'resource': 'pods'}}}
        ).status.allowed
    waitFor(lambda: may('list'))
    assert not may('create')
    assert worker.list_namespaced_pod(place).items == []
    assert getRefusal(makePod, worker, place) == (403, 'Forbidden')


def test_stranger(server):
    stranger = kubernetes.client.CoreV1Api(server.makeClient('no token'))
    assert getRefusal(stranger.list_namespace) == (401, 'Unauthorized')
