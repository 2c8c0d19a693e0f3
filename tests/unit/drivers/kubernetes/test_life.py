"""The lives of nodes."""

import base64
import json
import logging
import pathlib

from kubernetes.client import CoreV1Api
import pytest

from tests.emulators.kubernetes import Behaviour
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.kubernetes.sites import SHARED, addPod, allow
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
)
from zuul_nodes.drivers.kubernetes import statemachine
from zuul_nodes.drivers.kubernetes.access import ALL_VERBS
from zuul_nodes.drivers.kubernetes.errors import Forbidden
from zuul_nodes.launcher.providers.failures import Failure, classify

PODS = '/api/v1/pods'


@pytest.fixture
def before(cluster, core):
    """What there is besides nodes."""
    return cluster.store.keys()


def decode(secret, key):
    return base64.b64decode(secret['data'][key]).decode()


def getOurs(site):
    """:return: what the clean-up looks at, by its id."""
    return {resource.id: resource for resource
            in site.endpoint.listResources([site.provider])
            if resource.metadata.get('zuul_system_id') == 'system'}


def getName(node):
    return f'np{node.uuid[:13]}'


# What is made, and removed

def test_pod_in_its_own_namespace(makeSite, cluster, before):
    site = makeSite('kind: pod, labels: {team: a}')
    node = site.makeNode()
    assert site.create(node).complete
    name = getName(node)
    secret = cluster.store.get('secrets', name, 'zuul-worker')
    token = decode(secret, 'token')
    assert node.kubernetes_connection == {
        'user': 'zuul-worker', 'token': token,
        'ca_crt': secret['data']['ca.crt'], 'skiptls': False,
        'host': cluster.host, 'namespace': name, 'pod': name,
        'containers': ['node']}
    assert CoreV1Api(cluster.makeClient(token)).read_namespaced_pod(
        name, name).status.phase == 'Running'
    assert (node.kubernetes_namespace_id, node.interface_ip, node.host_id,
            node.quota.getResources()) == (
                name, '192.0.2.1', 'machine', {'pods': 1, 'namespaces': 1})
    for thing in (cluster.store.get('namespaces', None, name),
                  cluster.store.get('pods', name, name)):
        assert thing['metadata']['labels'] == {
            'team': 'a', 'zuul_system_id': 'system',
            'zuul_node_uuid': node.uuid, 'zuul_kubernetes_kind': 'pod'}
    role, = cluster.store.get('roles', name, 'zuul-restricted')['rules'][1:]
    assert role['resources'] == ['pods/exec', 'pods/log', 'pods/portforward']
    site.delete(node)
    assert cluster.store.keys() == before


def test_namespace(makeSite, cluster, before):
    site = makeSite('kind: namespace')
    node = site.makeNode()
    assert site.create(node).complete
    assert (node.kubernetes_connection['pod'],
            node.kubernetes_connection['containers']) == (None, None)
    assert node.interface_ip == getName(node)
    assert not cluster.store.list('pods', getName(node))
    site.delete(node)
    assert cluster.store.keys() == before


def test_pod_among_others(makeSite, cluster, shared, before):
    site = makeSite(SHARED)
    node = site.makeNode()
    assert site.create(node).complete
    name = getName(node)
    connection = node.kubernetes_connection
    assert (connection['namespace'], connection['pod'],
            connection['user']) == ('ci', name, name)
    # What a launcher without this driver would remove.
    assert node.kubernetes_namespace_id is None
    for rule in cluster.store.get('roles', 'ci', name)['rules']:
        assert rule['resourceNames'] == [name]
    site.delete(node)
    assert cluster.store.keys() == before


def test_a_spec_that_the_library_does_not_know(makeSite, cluster):
    site = makeSite('kind: pod, spec: {containers: [{name: a, image: a, '
                    'resources: {limits: {cpu: 2}}, colour: red}]}')
    node = site.makeNode()
    assert site.create(node).complete
    container, = cluster.store.get(
        'pods', getName(node), getName(node))['spec']['containers']
    assert (container['resources']['limits'], container['colour']) == (
        {'cpu': '2'}, 'red')


def test_number_of_calls(makeSite, cluster):
    site = makeSite()
    for _ in range(3):
        node = site.makeNode()
        site.create(node)
        site.delete(node)
    # And one list and one watch for all.
    assert len(cluster.calls) == 3 * 8 + 2
    assert site.endpoint.calls.numbers.total() == 3 * 8 + 2


def test_pull_secrets_are_copied(makeSite, cluster, core):
    core.create_namespaced_secret('default', {
        'metadata': {'name': 'registry'}, 'data': {'.dockercfg': 'e30='},
        'type': 'kubernetes.io/dockercfg'})
    site = makeSite('kind: pod, image-pull-secrets: [{name: registry}]')
    node = site.makeNode()
    assert site.create(node).complete
    secret = cluster.store.get('secrets', getName(node), 'registry')
    assert (secret['type'], secret['data']) == (
        'kubernetes.io/dockercfg', {'.dockercfg': 'e30='})


@pytest.mark.parametrize('cluster', ['openshift'], indirect=True)
def test_projects(makeSite, cluster, before):
    site = makeSite(use_openshift_projects='true')
    node = site.makeNode()
    # Rights come a moment after the project.
    fault = cluster.inject('POST', '.*/serviceaccounts', 403)
    machine = site.create(node)
    assert fault.reached.is_set() and not machine.complete
    site.advance(node, machine)
    assert machine.complete
    assert cluster.count('POST', '.*/projectrequests') == 1
    resource, = getOurs(site).values()
    assert (str(resource.type), resource.id) == ('project', getName(node))
    site.delete(node)
    # OpenShift does not tell that there is none.
    cluster.inject('DELETE', '.*/projects/.*', 403)
    site.delete(node)
    assert cluster.store.keys() == before


# One list for all

def test_one_list_for_all_that_wait(makeSite, cluster):
    """Of a cluster where pods may not be watched."""
    cluster.inject('WATCH', PODS, 403)
    site = makeSite()
    site.endpoint.pods.start()
    site.refresh()
    waitFor(lambda: not site.endpoint.pods.is_watching)
    before = cluster.count('GET', PODS)
    site.endpoint.adapter.list_interval = site.endpoint.listing.interval = 9e9
    site.endpoint.listing._tried = -9e9
    cluster.inject('GET', PODS, 500)
    nodes = [site.makeNode() for _ in range(5)]
    machines = [site.create(node) for node in nodes]
    assert {machine.state for machine in machines} == {'waiting for the pod'}
    site.endpoint.listing._tried = -9e9
    for node, machine in zip(nodes, machines, strict=True):
        site.advance(node, machine)
    assert all(machine.complete for machine in machines)
    assert cluster.count('GET', PODS) - before == 2


def test_long_lists_are_read_in_pages(makeSite, cluster, core, shared):
    site = makeSite()
    site.endpoint.adapter.page_size = 2
    for number in range(4):
        addPod(core, f'pod-{number}')
    assert len([each for each in site.endpoint.listInstances()
                if each.kubernetes_type == 'pod']) == 5
    assert cluster.count('GET', PODS) == 3


def test_who_may_not_list_all_pods(makeSite, cluster, shared):
    allow(cluster, [['*'], ['*'], ['*']])
    site = makeSite(SHARED, user='launcher')
    node = site.makeNode()
    assert site.create(node).complete
    resource, = site.endpoint.listResources([site.provider])
    assert (str(resource.type), resource.id) == (
        'pod', f'ci/{getName(node)}')
    assert len(list(site.endpoint.listInstances())) == 2
    site.endpoint.deleteResource(resource)
    cluster.settle()
    pod, = cluster.store.list('pods')
    assert pod['metadata']['name'] == 'other'


# Again and again

@pytest.mark.parametrize('label', ['kind: pod', 'kind: namespace', SHARED])
@pytest.mark.parametrize('is_recorded', [True, False])
def test_a_launcher_dies_after_each_call(makeSite, cluster, shared, before,
                                         label, is_recorded):
    """Another one goes on, with what was recorded or without it."""
    site = makeSite(label)
    number = len(cluster.store.list('namespaces'))
    node = site.makeNode()
    for _ in range(20):
        recorded = node.create_state
        # The answer is lost: of the first call that makes something new.
        fault = cluster.inject('POST', '.*', acts=True)
        machine = site.getCreation(node)
        try:
            site.advance(node, machine)
        except Exception as error:
            assert classify(error) is Failure.TEMPORARY
        else:
            if machine.complete:
                break
        finally:
            fault.times = 0
        if not is_recorded:
            node._set(create_state=recorded)
    assert site.create(node).complete
    assert len(cluster.store.list('namespaces')) == (
        number if label == SHARED else number + 1)
    node._set(create_state={}, kubernetes_namespace_id=None,
              kubernetes_connection={})
    site.delete(node)
    assert cluster.store.keys() == before


def test_what_zuuls_driver_has_begun(makeSite, cluster, core, before):
    site = makeSite()
    node = site.makeNode()
    name = getName(node)
    core.create_namespace({'metadata': {'name': name, 'labels': node.tags}})
    node._set(create_state={'state': 'creating rbac'},
              kubernetes_namespace_id=name)
    assert site.create(node).complete
    node._set(create_state={'state': 'complete'})
    site.delete(node)
    assert cluster.store.keys() == before


def test_deleted_twice(makeSite, cluster, before):
    site = makeSite()
    node = site.makeNode()
    site.delete(node)
    site.create(node)
    site.delete(node)
    site.delete(node)
    assert cluster.store.keys() == before


@pytest.mark.parametrize('label', ['kind: pod', SHARED])
def test_somebody_else_has_the_name(makeSite, cluster, core, shared, label):
    site = makeSite(label)
    node = site.makeNode()
    if label == SHARED:
        addPod(core, getName(node))
    else:
        core.create_namespace({'metadata': {'name': getName(node)}})
    present = cluster.store.keys()
    with pytest.raises(DriverError, match='belongs to another node'):
        site.create(node)
    site.delete(node)
    assert cluster.store.keys() == present


def test_another_one_of_the_name(makeSite, cluster, core):
    """It is not the one that was made."""
    site = makeSite()
    node = site.makeNode()
    site.create(node)
    core.delete_namespace(getName(node))
    cluster.settle()
    core.create_namespace({'metadata': {'name': getName(node)}})
    site.delete(node)
    assert cluster.store.get('namespaces', None, getName(node))[
        'status']['phase'] == 'Active'


def test_the_pod_vanishes(makeSite, cluster, core):
    cluster.kubelet.behaviour = Behaviour.HOLD
    site = makeSite()
    node = site.makeNode()
    machine = site.create(node)
    core.delete_namespaced_pod(
        getName(node), getName(node), grace_period_seconds=0)
    site.endpoint.listing._tried = -9e9
    with pytest.raises(DriverError, match='has vanished'):
        site.advance(node, machine)


# The cluster takes its time

@pytest.mark.parametrize(('status', 'message'), [
    (403, 'error looking up service account'),
    (500, 'No API token found for service account "default"')])
def test_the_namespace_has_no_account_yet(makeSite, cluster, status,
                                          message):
    site = makeSite()
    node = site.makeNode()
    cluster.inject('POST', '.*/pods', status, message)
    machine = site.create(node)
    assert machine.state == 'making the pod'
    site.advance(node, machine)
    assert machine.complete


def test_the_token_is_late(makeSite, cluster, core):
    cluster.controllers.fills_secrets = False
    site = makeSite('kind: namespace')
    node = site.makeNode()
    machine = site.create(node)
    assert machine.state == 'waiting for the token'
    core.patch_namespaced_secret('zuul-worker', getName(node), {
        'data': {'token': 'bGF0ZQ==', 'ca.crt': 'Y2E='}})
    site.advance(node, machine)
    assert machine.complete
    assert node.kubernetes_connection['token'] == 'late'


def test_a_cluster_without_tokens_in_secrets(makeSite, cluster, monkeypatch):
    monkeypatch.setattr(statemachine, 'TOKEN_TIMEOUT', 0)
    cluster.controllers.fills_secrets = False
    site = makeSite('kind: namespace')
    node = site.makeNode()
    assert site.create(node).complete
    client = cluster.makeClient(node.kubernetes_connection['token'])
    assert CoreV1Api(client).list_namespaced_pod(getName(node)).items == []


def test_calls_that_are_not_waited_for(makeSite, cluster, before):
    """A launcher whose steps have no threads of their own."""
    site = makeSite()
    site.connection.driver.steps_have_threads = False
    node = site.makeNode()
    fault = cluster.inject('POST', '/api/v1/namespaces', hangs=True,
                           acts=True, status=409)
    machine = site.create(node)
    assert fault.reached.wait(10)
    assert machine.state == 'making the namespace'
    deletion = site.provider.getDeleteStateMachine(node, site.log)
    deletion.advance()
    assert deletion.state == deletion.START
    fault.release()
    while not machine.complete:
        site.advance(node, machine)
    site.delete(node)
    assert cluster.store.keys() == before


def test_a_cluster_that_does_not_answer(makeSite, cluster):
    site = makeSite(api_timeout='0.1')
    cluster.inject('POST', '/api/v1/namespaces', hangs=True)
    with pytest.raises(Exception, match='timed out') as info:
        site.create(site.makeNode())
    assert classify(info.value) is Failure.TEMPORARY


def test_a_step_that_was_given_up(makeSite, cluster, before):
    site = makeSite()
    node = site.makeNode()
    machine = site.getCreation(node)
    machine.advance()
    node._set(_active_context=None)
    machine.advance()
    assert machine.state == 'making the namespace'
    assert cluster.store.keys() == before


# It does not work

def test_quota(makeSite, cluster):
    site = makeSite()
    cluster.inject('POST', '.*/pods', 403, 'exceeded quota: ci, requested: '
                   'pods=1, used: pods=4, limited: pods=4')
    with pytest.raises(QuotaError, match='exceeded quota: ci'):
        site.create(site.makeNode())


def test_more_than_there_can_be(makeSite, core, shared):
    """As in a namespace that the cluster itself gives a quota."""
    core.create_namespaced_resource_quota('ci', {
        'metadata': {'name': 'quota'}, 'spec': {'hard': {
            'requests.cpu': '2500m'}}})
    site = makeSite(f'{SHARED}, cpu: 2600m')
    with pytest.raises(PermanentError, match=r'requests\.cpu=2600m'):
        site.create(site.makeNode())
    small = makeSite(f'{SHARED}, cpu: 1')
    with pytest.raises(QuotaError, match=r'used: requests\.cpu=2,'):
        small.create(small.makeNode())


@pytest.mark.parametrize(('right', 'message'), [
    (('create', 'pods'), 'User "launcher" cannot create resource "pods" .* '
     'namespace "ci"'),
    (('list', 'pods'), 'Zuul may not list pods in namespace ci'),
    (('create', 'secrets'), 'cannot create resource "secrets"'),
    (('get', 'secrets'), 'cannot get resource "secrets"')])
def test_a_right_is_missing(makeSite, cluster, shared, right, message):
    verb, resource = right
    verbs = [each for each in ALL_VERBS if each != verb]
    allow(cluster, [['*'], [resource], verbs], *(
        [['*'], [other], ['*']] for other in (
            'pods', 'secrets', 'serviceaccounts', 'roles', 'rolebindings')
        if other != resource))
    site = makeSite(SHARED, user='launcher')
    with pytest.raises(Forbidden, match=message) as info:
        site.create(site.makeNode())
    assert classify(info.value) is Failure.ATTEMPT


def test_the_cluster_has_no_place(makeSite, cluster):
    cluster.kubelet.behaviour = Behaviour.UNSCHEDULABLE
    site = makeSite('kind: pod, boot-timeout: 0')
    with pytest.raises(CapacityError, match='0/1 nodes are available'):
        site.create(site.makeNode())
    patient = makeSite()
    assert patient.create(patient.makeNode()).state == 'waiting for the pod'


def test_there_is_no_such_image(makeSite, cluster):
    cluster.kubelet.behaviour = Behaviour.NO_IMAGE
    site = makeSite()
    with pytest.raises(PermanentError, match='manifest for debian not found'):
        site.create(site.makeNode())


def test_there_is_no_such_namespace(makeSite):
    site = makeSite(SHARED)
    with pytest.raises(PermanentError, match='namespaces "ci" not found'):
        site.create(site.makeNode())


# What there is

def test_what_is_used(makeSite, cluster, core, shared):
    site = makeSite()
    cluster.kubelet.behaviour = Behaviour.FAIL
    addPod(core, 'done')
    cluster.settle()
    used = [each.getQuotaInformation().getResources()
            for each in site.endpoint.listInstances()]
    assert used == [{'namespaces': 1}] * 3 + [{'pods': 1, 'cores': 2}]


def test_leaks(makeSite, cluster, shared, before):
    own, among = makeSite(), makeSite(SHARED)
    own_node, node = own.makeNode(), among.makeNode()
    own.create(own_node)
    among.create(node)
    found = getOurs(among)
    # A pod goes with its own namespace.
    assert {key: str(resource.type) for key, resource in found.items()} == {
        getName(own_node): 'namespace', f'ci/{getName(node)}': 'pod'}
    for resource in found.values():
        among.endpoint.deleteResource(resource)
        # It may be gone already.
        among.endpoint.deleteResource(resource)
    cluster.settle()
    assert cluster.store.keys() == before


def test_what_hangs_is_not_asked_for_again(makeSite, cluster, core):
    cluster.kubelet.removes = False
    site = makeSite()
    node = site.makeNode()
    site.create(node)
    assert list(getOurs(site)) == [getName(node)]
    site.delete(node)
    assert not getOurs(site)
    assert cluster.store.get('namespaces', None, getName(node))


def test_what_quotas_count_is_waited_for(makeSite, cluster, shared):
    """In a namespace with others, until the quota gives up, too."""
    cluster.kubelet.removes = False
    site = makeSite(SHARED)
    nodes = [site.makeNode() for _ in range(2)]
    machines = []
    for node in nodes:
        site.create(node)
        machines.append(site.provider.getDeleteStateMachine(node, site.log))
        for _ in range(9):
            machines[-1].advance()
        assert machines[-1].state == 'waiting for the end of the pod'
    machines[0]._begun -= 9e9
    machines[0].advance()
    assert machines[0].complete and getOurs(site) == {}
    cluster.kubelet.removes = True
    cluster.settle()
    site.refresh()
    machines[1].advance()
    assert machines[1].complete


def test_console(makeSite, cluster, core):
    site = makeSite('kind: pod, console-log: true')
    node = site.makeNode()
    site.create(node)
    core.create_namespaced_event(getName(node), {
        'metadata': {'name': 'first'}, 'reason': 'Pulled',
        'message': 'Successfully pulled image',
        'involvedObject': {'kind': 'Pod', 'name': getName(node)}})
    cluster.logs[getName(node), getName(node)] = b'Welcome\n'
    text = site.provider.getConsoleLog(site.label, node)
    assert text == 'Pulled: Successfully pulled image\nWelcome\n'
    # One that has not begun.
    cluster.inject('GET', '.*/log', 400, 'container "node" is waiting')
    assert 'is waiting' in site.provider.getConsoleLog(site.label, node)


def test_tokens_are_not_in_the_log(makeSite, caplog):
    caplog.set_level(logging.DEBUG)
    site = makeSite()
    node = site.makeNode()
    site.create(node)
    token = node.kubernetes_connection['token']
    site.delete(node)
    config = json.loads(
        pathlib.Path(site.connection.config_file).read_text())
    for secret in (token, base64.b64encode(token.encode()).decode(),
                   config['users'][0]['user']['token']):
        assert secret not in caplog.text
    assert token not in str(node.create_state)
