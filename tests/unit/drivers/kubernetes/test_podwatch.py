"""A watch of pods, and what comes between."""

import pytest

from tests.emulators.kubernetes import Behaviour
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.providers.failures import Failure, classify

PODS = '/api/v1/pods'


@pytest.fixture
def site(makeSite, cluster):
    """One with two nodes that wait for their pods."""
    cluster.kubelet.behaviour = Behaviour.HOLD
    site = makeSite()
    site.nodes = [site.makeNode() for _ in range(2)]
    site.machines = [site.create(node) for node in site.nodes]
    site.refresh()
    return site


def getNames(site):
    """:return: of the pods that are known."""
    return sorted(name for _, name in site.endpoint.pods._pods)


def run(site):
    """Let all pods run.

    :return: whether all nodes are complete.
    """
    site.cluster.kubelet.behaviour = Behaviour.RUN
    for node, machine in zip(site.nodes, site.machines, strict=True):
        site.advance(node, machine)
    return all(machine.complete for machine in site.machines)


def change(core, number=3):
    """Have things happen that have nothing to do with this Zuul."""
    for _ in range(number):
        core.create_namespaced_pod('default', {
            'metadata': {'name': 'foreign'}, 'spec': {'containers': [
                {'name': 'a', 'image': 'a'}]}})
        core.delete_namespaced_pod('foreign', 'default',
                                   grace_period_seconds=0)


def test_one_list_and_one_watch_for_all_nodes(site, cluster, core):
    change(core)
    assert getNames(site) == sorted(
        machine.place.pod for machine in site.machines)
    assert run(site)
    assert cluster.count('GET', PODS) == cluster.count('WATCH', PODS) == 1


def test_a_watch_that_is_cut_goes_on_where_it_was(site, cluster):
    cluster.cutWatches()
    waitFor(lambda: cluster.count('WATCH', PODS) == 2)
    assert run(site)
    assert cluster.count('GET', PODS) == 1


def test_nothing_is_lost_while_the_cluster_is_away(site, cluster, core):
    fault = cluster.inject('WATCH', PODS, 503, hangs=True)
    cluster.inject('WATCH', PODS, times=2)
    cluster.cutWatches()
    assert fault.reached.wait(10)
    name = site.machines[0].place.pod
    core.delete_namespaced_pod(name, name, grace_period_seconds=0)
    fault.release()
    site.refresh()
    assert getNames(site) == [site.machines[1].place.pod]
    assert (cluster.count('GET', PODS), cluster.count('WATCH', PODS)) == (
        1, 5)


@pytest.mark.parametrize('status', [410, 503])
def test_there_is_a_list_when_the_version_has_expired(
        site, cluster, core, status):
    """The answer is 410, or an event of the watch says so."""
    fault = cluster.inject('WATCH', PODS, status, hangs=True)
    cluster.cutWatches()
    assert fault.reached.wait(10)
    name = site.machines[0].place.pod
    core.delete_namespaced_pod(name, name, grace_period_seconds=0)
    change(core)
    cluster.store.compact()
    fault.release()
    waitFor(lambda: getNames(site) == [site.machines[1].place.pod])
    assert cluster.count('GET', PODS) == 2
    site.nodes, site.machines = site.nodes[1:], site.machines[1:]
    assert run(site)


def test_bookmarks_save_lists(site, cluster, core):
    change(core)
    cluster.store.bookmark()
    waitFor(lambda: site.endpoint.pods.version == str(cluster.store.version))
    cluster.store.compact()
    cluster.cutWatches()
    waitFor(lambda: cluster.count('WATCH', PODS) == 2)
    assert run(site)
    assert cluster.count('GET', PODS) == 1


def test_a_dead_connection_is_replaced(site, cluster):
    site.endpoint.pods.duration = 1
    site.endpoint.adapter.watch_slack = -0.9
    fault = cluster.inject('WATCH', PODS, hangs=True)
    cluster.cutWatches()
    assert fault.reached.wait(10)
    assert run(site)
    assert cluster.count('GET', PODS) == 1


def test_pods_are_polled_for_a_while_after_a_forbidden_watch(site, cluster):
    site.endpoint.pods.forbidden_pause = 1
    cluster.inject('WATCH', PODS, 403)
    cluster.cutWatches()
    waitFor(lambda: not site.endpoint.pods.is_watching)
    assert run(site)
    waitFor(lambda: site.endpoint.pods.is_watching)
    site.refresh()
    assert len(getNames(site)) == 2


def test_watches_that_fail_for_long_are_an_error(site, cluster):
    node, machine = site.nodes[0], site.machines[0]
    cluster.inject('WATCH', PODS, 503, 'etcd has no leader', times=9**9)
    cluster.cutWatches()
    waitFor(lambda: 'etcd' in str(site.endpoint.pods._error))
    # What is known is good for a while.
    site.advance(node, machine)
    assert machine.state == 'waiting for the pod'
    site.endpoint.pods.failure_timeout = 0
    with pytest.raises(Exception, match='etcd has no leader') as info:
        machine.advance()
    assert classify(info.value) is Failure.TEMPORARY


def test_a_ready_pod_that_is_evicted_is_known_at_once(site, core):
    assert run(site)
    place = site.machines[0].place
    core.delete_namespaced_pod(place.pod, place.namespace,
                               grace_period_seconds=0)
    site.refresh()
    assert site.endpoint.pods.find(0, place.namespace, place.pod) == (
        True, None)


def test_the_pod_of_a_ready_node_is_looked_for(site, core, cluster):
    assert run(site)
    first, second = site.nodes
    place = site.machines[0].place

    def look():
        list(site.endpoint.listInstances())
        return [site.endpoint.findProblem(node) for node in (first, second)]
    assert look() == [None, None]
    core.delete_namespaced_pod(place.pod, place.namespace,
                               grace_period_seconds=0)
    assert look() == ['its pod does not exist', None]
    cluster.inject('GET', PODS, 403)
    cluster.inject('GET', f'/api/v1/namespaces/{place.namespace}/pods', 403)
    assert look() == [None, None]


def test_a_watch_ends_with_the_endpoint(site):
    thread = site.endpoint.pods._thread
    site.endpoint.pods.stop()
    thread.join(10)
    assert not thread.is_alive()
