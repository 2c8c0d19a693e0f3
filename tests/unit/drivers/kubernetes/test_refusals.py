"""What becomes of nodes when a cluster refuses calls, or removes pods."""

import contextlib

from kubernetes.client import CoreV1Api
import pytest

from tests.emulators.kubernetes import Behaviour
from zuul_nodes.drivers import CapacityError, DriverError, TemporaryError
from zuul_nodes.drivers.kubernetes import api, statemachine
from zuul_nodes.launcher.providers.failures import Failure, classify

RBAC = '/apis/rbac.authorization.k8s.io/v1'
CONFLICT = ('Operation cannot be fulfilled on resourcequotas "ci": the object '
            'has been modified; please apply your changes to the latest '
            'version and try again')
STARTING = 'is forbidden: not yet ready to handle request'
SHARED = 'kind: pod, namespace: ci'
PODS = '/api/v1/pods'


@pytest.fixture
def shared(cluster, core):
    core.create_namespace({'metadata': {'name': 'ci'}})
    cluster.settle()


@pytest.mark.parametrize(('status', 'message'), [
    (409, CONFLICT), (403, STARTING)], ids=['conflict', 'starting'])
@pytest.mark.parametrize(('label', 'path', 'resource'), [
    ('kind: namespace', '/api/v1/namespaces', 'namespaces'),
    (SHARED, '/api/v1/namespaces/ci/pods', 'pods'),
    ('kind: pod', '/api/v1/namespaces/.*/secrets', 'secrets'),
    ('kind: pod', '.*/serviceaccounts', 'serviceaccounts'),
    (SHARED, f'{RBAC}/namespaces/ci/roles', 'roles'),
    ('kind: pod', f'{RBAC}/.*/rolebindings', 'rolebindings')])
def test_what_is_refused_for_a_moment_is_made_in_the_next(
        makeSite, cluster, shared, label, path, resource, status, message):
    site = makeSite(label)
    node = site.makeNode()
    fault = cluster.inject('POST', path, status, message)
    machine = site.create(node)
    assert fault.reached.is_set() and not machine.complete
    site.advance(node, machine)
    assert machine.complete
    assert [thing for thing in cluster.store.list(resource)
            if thing['metadata']['name'] in (
                machine.place.namespace, machine.place.pod)
            or thing['metadata'].get('namespace') == machine.place.namespace]


def test_what_is_refused_for_long_uses_up_no_attempt(
        makeSite, cluster, monkeypatch):
    monkeypatch.setattr(statemachine, 'SETTLING', 0)
    site = makeSite()
    cluster.inject('POST', '.*/rolebindings', 409, CONFLICT)
    with pytest.raises(TemporaryError, match='object has been modified'):
        site.create(site.makeNode())


# Lists

def test_a_list_that_expires_between_pages_is_read_again(
        makeSite, cluster, core, shared):
    site = makeSite()
    site.endpoint.adapter.page_size = 1
    nodes = [site.makeNode() for _ in range(3)]
    for node in nodes:
        site.create(node)

    class Expiring:
        """The list grows old before its next page is asked for."""

        def __enter__(self):
            core.create_namespace({'metadata': {'name': 'new'}})
            cluster.store.compact()

        def __exit__(self, *args):
            site.endpoint.adapter.rate_limiter = contextlib.nullcontext()
    site.endpoint.adapter.rate_limiter = Expiring()
    pods = list(site.endpoint.adapter.listInstances())
    assert cluster.store.get('namespaces', None, 'new')
    assert {pod.metadata['zuul_node_uuid'] for pod in pods} == {
        node.uuid for node in nodes}
    assert len(pods) == len(nodes)


def test_lists_of_all_pods_are_refused_once(makeSite, cluster):
    site = makeSite()
    node = site.makeNode()
    site.create(node)

    def find():
        """:return: how many lists of all pods it takes to find it."""
        before = cluster.count('GET', PODS)
        pod, = site.endpoint.adapter.listInstances()
        assert pod.metadata['zuul_node_uuid'] == node.uuid
        return cluster.count('GET', PODS) - before
    cluster.inject('GET', PODS, 403)
    assert [find() for _ in range(3)] == [1, 0, 0]
    # For the time being.
    site.endpoint.adapter._forbidden_until -= api.FORBIDDEN
    assert [find() for _ in range(3)] == [1, 1, 1]


def test_a_list_that_is_refused_does_not_fail_a_node(
        makeSite, cluster, shared):
    cluster.inject('WATCH', PODS, 403)
    cluster.kubelet.behaviour = Behaviour.HOLD
    site = makeSite(SHARED)
    node = site.makeNode()
    machine = site.create(node)
    assert not site.endpoint.pods.is_watching
    cluster.inject('GET', PODS, 403)
    cluster.inject('GET', '/api/v1/namespaces/ci/pods', 403)
    assert site.endpoint.listing.getNow() == []
    site.endpoint.listing._tried = 9e9
    site.advance(node, machine)
    assert machine.state == 'waiting for the pod'
    site.endpoint.listing._tried = 0
    cluster.kubelet.behaviour = Behaviour.RUN
    site.advance(node, machine)
    assert machine.complete


# What others remove

@pytest.fixture
def waiting(makeSite, cluster):
    """:return: a site, a node, its machine, and the name of its pod."""
    cluster.kubelet.behaviour = Behaviour.HOLD
    site = makeSite()
    node = site.makeNode()
    machine = site.create(node)
    return site, node, machine, machine.place.pod


def condition(reason):
    return {'type': 'DisruptionTarget', 'status': 'True', 'reason': reason,
            'message': 'what it says'}


@pytest.mark.parametrize(('reason', 'error'), [
    ('PreemptionByScheduler', CapacityError),
    ('DeletionByTaintManager', TemporaryError),
    ('EvictionByEvictionAPI', TemporaryError)])
@pytest.mark.parametrize('has_ended', [True, False])
def test_the_cluster_says_why_it_removes_a_pod(
        waiting, cluster, core, reason, error, has_ended):
    site, node, machine, name = waiting
    core.patch_namespaced_pod_status(name, name, {'status': {
        'phase': 'Failed' if has_ended else 'Pending',
        'conditions': [condition(reason)]}})
    if not has_ended:
        cluster.kubelet.removes = False
        core.delete_namespaced_pod(name, name)
    site.refresh()
    with pytest.raises(error, match='what it says'):
        site.advance(node, machine)


@pytest.mark.parametrize(('reason', 'message', 'failure'), [
    ('TaintManagerEviction', 'Marking for deletion Pod', Failure.TEMPORARY),
    ('Preempted', 'Preempted by pod 1 on node 2', Failure.CAPACITY),
    ('Killing', 'Stopping container node', Failure.ATTEMPT)])
@pytest.mark.parametrize('is_gone', [True, False])
def test_events_say_why_a_pod_is_gone(
        waiting, cluster, core, reason, message, failure, is_gone):
    site, node, machine, name = waiting
    core.create_namespaced_event(name, {
        'metadata': {'name': 'first'}, 'reason': reason, 'message': message,
        'involvedObject': {'kind': 'Pod', 'name': name}})
    cluster.kubelet.removes = is_gone
    core.delete_namespaced_pod(name, name)
    if is_gone:
        cluster.settle()
    site.refresh()
    with pytest.raises(DriverError, match=(
            'has vanished' if is_gone else 'is being deleted')) as info:
        site.advance(node, machine)
    assert classify(info.value) is failure
    assert (message in str(info.value)) is (failure is not Failure.ATTEMPT)


def test_events_need_not_be_known(waiting, cluster, core):
    site, node, machine, name = waiting
    CoreV1Api(cluster.client).delete_namespaced_pod(
        name, name, grace_period_seconds=0)
    cluster.inject('GET', '.*/events', 403)
    site.refresh()
    with pytest.raises(DriverError, match='has vanished') as info:
        site.advance(node, machine)
    assert classify(info.value) is Failure.ATTEMPT
