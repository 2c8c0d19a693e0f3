"""Pods to which the cluster adds something of its own."""

import pytest

from tests.emulators.kubernetes import Behaviour
from zuul_nodes.drivers import CapacityError

SIDECAR = {'name': 'istio-proxy', 'image': 'proxy'}
GATE = 'kueue.x-k8s.io/admission'
QUEUE = 'kueue.x-k8s.io/queue-name'
RUNNING = {'running': {'startedAt': '2026-01-01T00:00:00Z'}}
WAITING = {'waiting': {'reason': 'ContainerCreating'}}


def putFirst(pod):
    pod['spec']['containers'].insert(0, dict(SIDECAR))


def addGate(pod):
    """As Kueue does with pods that name a queue."""
    if QUEUE in pod['metadata']['labels']:
        pod['spec']['schedulingGates'] = [{'name': GATE}]


def say(core, name, **states):
    """:param states: of the containers, with underscores."""
    core.patch_namespaced_pod_status(name, name, {'status': {
        'phase': 'Running', 'podIP': '192.0.2.1', 'containerStatuses': [
            {'name': container.replace('_', '-'), 'image': 'i',
             'imageID': 'i', 'ready': state is RUNNING, 'restartCount': 0,
             'state': state} for container, state in states.items()]}})


def test_a_sidecar_does_not_make_a_node_ready(makeSite, cluster, core):
    cluster.webhooks.append(putFirst)
    cluster.kubelet.behaviour = Behaviour.HOLD
    site = makeSite()
    node = site.makeNode()
    machine = site.create(node)
    name = machine.place.pod
    say(core, name, istio_proxy=RUNNING, node=WAITING)
    site.advance(node, machine)
    assert not machine.complete
    say(core, name, istio_proxy=WAITING, node=RUNNING)
    site.advance(node, machine)
    assert machine.complete


def test_jobs_and_logs_are_of_the_container_that_was_asked_for(
        makeSite, cluster):
    """What runs kubectl without a name takes that of the annotation."""
    cluster.webhooks.append(putFirst)
    site = makeSite('kind: pod, annotations: {team: a}, spec: {containers: '
                    '[{name: shell, image: a}, {name: db, image: a}]}')
    node = site.makeNode()
    assert site.create(node).complete
    pod, = cluster.store.list('pods')
    assert [each['name'] for each in pod['spec']['containers']] == [
        'istio-proxy', 'shell', 'db']
    assert pod['metadata']['annotations'] == {
        'team': 'a', 'kubectl.kubernetes.io/default-container': 'shell'}
    site.provider.getConsoleLog(site.label, node)
    assert ('container', ['shell']) in cluster.log_queries[0].items()


@pytest.mark.parametrize('end', ['admitted', 'dropped'])
def test_a_queue_does_not_use_up_boot_timeout(makeSite, cluster, core, end):
    cluster.webhooks.append(addGate)
    site = makeSite('kind: pod, boot-timeout: 0, '
                    f'labels: {{{QUEUE}: ci}}')
    node = site.makeNode()
    machine = site.create(node)
    name = machine.place.pod
    pod = cluster.store.get('pods', name, name)
    assert pod['status']['conditions'][0]['reason'] == 'SchedulingGated'
    site.advance(node, machine)
    assert machine.state == 'waiting for the pod'
    if end == 'admitted':
        core.patch_namespaced_pod(name, name, {
            'spec': {'schedulingGates': []}})
        cluster.settle()
        site.refresh()
        site.advance(node, machine)
        assert machine.complete
        return
    core.patch_namespaced_pod_status(name, name, {'status': {'conditions': [
        {'type': 'TerminationTarget', 'status': 'True',
         'reason': 'StoppedByKueue', 'message': 'Preempted'}]}})
    site.refresh()
    with pytest.raises(CapacityError, match='StoppedByKueue'):
        site.advance(node, machine)


def test_after_its_turn_boot_timeout_counts(makeSite, cluster, core):
    cluster.webhooks.append(addGate)
    cluster.kubelet.behaviour = Behaviour.UNSCHEDULABLE
    site = makeSite('kind: pod, boot-timeout: 0, '
                    f'labels: {{{QUEUE}: ci}}')
    node = site.makeNode()
    machine = site.create(node)
    name = machine.place.pod
    core.patch_namespaced_pod(name, name, {'spec': {'schedulingGates': []}})
    cluster.settle()
    site.refresh()
    with pytest.raises(CapacityError, match='0/1 nodes are available'):
        site.advance(node, machine)


def test_a_namespace_has_no_default_container(makeSite, cluster):
    site = makeSite('kind: namespace')
    node = site.makeNode()
    assert site.create(node).complete
    assert cluster.store.get('namespaces', None, node.interface_ip)[
        'metadata']['annotations'] == {}
