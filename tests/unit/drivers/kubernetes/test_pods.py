"""What becomes of pods."""

import pytest

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.kubernetes.pods import Pod
from zuul_nodes.launcher.providers.failures import Failure, classify


def makePod(state=None, phase='Pending', deleted=False, **status):
    """
    :param dict state: of the first container.
    :param status: of the pod, besides.
    """
    if state is not None:
        status['containerStatuses'] = [{'name': 'node', 'state': state}]
    metadata = {'name': 'np1', 'namespace': 'ci', 'uid': 'id',
                'labels': {'zuul_node_uuid': '1'}}
    if deleted:
        metadata['deletionTimestamp'] = '2026-01-01T00:00:00Z'
    return Pod({'metadata': metadata, 'status': {'phase': phase, **status},
                'spec': {'nodeName': 'machine', 'containers': [
                    {'name': 'node',
                     'resources': {'requests': {'cpu': '250m'}}},
                    {'name': 'other'}]}})


def wait(reason, message=None):
    return {'waiting': {'reason': reason, 'message': message}}


def test_ready():
    pod = makePod({'running': {}}, 'Running', podIP='192.0.2.1')
    pod.check()
    assert pod.isReady('node')
    assert (pod.interface_ip, pod.host_id, pod.metadata) == (
        '192.0.2.1', 'machine', {'zuul_node_uuid': '1'})
    assert pod.getQuotaInformation().getResources() == {
        'pods': 1, 'cores': 0.25}


@pytest.mark.parametrize('pod', [
    makePod(), makePod(wait('ContainerCreating')),
    makePod(wait('PodInitializing'), 'Running')])
def test_not_yet(pod):
    pod.check()
    assert not pod.isReady('node')


def test_another_container_is_not_what_jobs_use():
    pod = makePod(phase='Running', containerStatuses=[
        {'name': 'other', 'state': {'running': {}}},
        {'name': 'node', 'state': wait('ContainerCreating')}])
    assert not pod.isReady('node')


@pytest.mark.parametrize(('reason', 'message'), [
    ('ErrImagePull', 'docker.io/library/debian:41: not found'),
    ('ErrImagePull', 'pull access denied, repository does not exist'),
    ('ImagePullBackOff', 'Back-off pulling image "debian:41": '
     'ErrImagePull: manifest unknown'),
    ('InvalidImageName', "couldn't parse image name"),
    ('ErrImageNeverPull', 'not present with pull policy of Never'),
    ('CreateContainerConfigError', 'secret "registry" not found')])
def test_it_is_no_use(reason, message):
    pod = makePod(wait(reason, message))
    with pytest.raises(PermanentError, match=f'{reason}: {message}'):
        pod.check()


@pytest.mark.parametrize('message', [
    'dial tcp 192.0.2.1:443: i/o timeout',
    'unexpected status: 503 Service Unavailable',
    'toomanyrequests: You have reached your pull rate limit',
    'dial tcp: lookup registry.example.com: no such host'])
def test_the_registry_may_come_back(message):
    with pytest.raises(TemporaryError, match=message):
        makePod(wait('ErrImagePull', message)).check()


def test_nobody_tells_why_the_image_can_not_be_had():
    with pytest.raises(DriverError, match='Back-off') as info:
        makePod(wait('ImagePullBackOff', 'Back-off pulling image "a"')).check()
    assert classify(info.value) is Failure.ATTEMPT


def test_containers_that_run_before():
    pod = makePod(initContainerStatuses=[
        {'name': 'first', 'state': wait('ErrImagePull', 'not found')}])
    with pytest.raises(PermanentError, match='Container first of pod np1'):
        pod.check()


def test_crash():
    pod = makePod(phase='Running', containerStatuses=[{
        'name': 'node', 'state': wait('CrashLoopBackOff', 'back-off 10s'),
        'lastState': {'terminated': {
            'exitCode': 1, 'reason': 'Error', 'message': 'no shell'}}}])
    with pytest.raises(DriverError, match='status 1: Error no shell') as info:
        pod.check()
    assert classify(info.value) is Failure.ATTEMPT


@pytest.mark.parametrize('phase', ['Failed', 'Succeeded'])
def test_end(phase):
    pod = makePod({'terminated': {'exitCode': 137, 'reason': 'OOMKilled'}},
                  phase)
    assert not pod.uses_resources
    with pytest.raises(DriverError, match=(
            rf'\({phase}\): container node has ended with status 137: '
            'OOMKilled')) as info:
        pod.check()
    assert classify(info.value) is Failure.ATTEMPT


@pytest.mark.parametrize('reason', [
    'OutOfcpu', 'OutOfpods', 'Evicted', 'Preempting', 'NodeShutdown'])
def test_the_machine_had_no_room(reason):
    pod = makePod(phase='Failed', reason=reason, message='Pod was rejected')
    with pytest.raises(CapacityError, match='Pod was rejected'):
        pod.check()


def test_somebody_deletes_it():
    pod = makePod({'running': {}}, 'Running', deleted=True)
    assert not pod.isReady('node')
    with pytest.raises(DriverError, match='is being deleted'):
        pod.check()


def test_the_scheduler_has_no_place():
    condition = {'type': 'PodScheduled', 'status': 'False',
                 'reason': 'Unschedulable',
                 'message': '0/3 nodes are available: 3 Insufficient cpu.'}
    assert makePod(conditions=[condition]).blocker == condition['message']
    assert makePod(conditions=[{**condition, 'status': 'True'}]
                   ).blocker == ''
