"""What clusters say, word by word, and what each of it means."""

import pytest

from zuul_nodes.drivers.kubernetes.errors import makeError
from zuul_nodes.drivers.kubernetes.meanings import (
    TABLE,
    Kind,
    Speaker,
    getRow,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

FORBIDDEN = 'pods "np1" is forbidden: '
MODIFIED = ('the object has been modified; please apply your changes to the '
            'latest version and try again')
PULLING = 'failed to pull and unpack image "docker.io/library/debian:12": '
# Status code, reason and message of answers.
ANSWERS = {
    Kind.QUOTA: [
        (403, 'Forbidden', FORBIDDEN + 'exceeded quota: ci, requested: '
         'pods=1, used: pods=4, limited: pods=4')],
    Kind.FORBIDDEN: [
        (403, 'Forbidden', FORBIDDEN + 'User "zuul" cannot create resource '
         '"pods" in API group "" in the namespace "ci"'),
        (403, 'Forbidden', 'forbidden: User "system:anonymous" cannot get '
         'path "/"'),
        (403, '', 'a proxy does not let it through')],
    Kind.UNSETTLED: [
        (403, 'Forbidden', FORBIDDEN + 'status unknown for quota: ci, '
         'resources: pods'),
        (403, 'Forbidden', FORBIDDEN + 'error looking up service account '
         'ci/default: serviceaccount "default" not found'),
        (500, 'InternalError', 'No API token found for service account '
         '"default", retry after the token is automatically created'),
        (403, 'Forbidden', FORBIDDEN + 'not yet ready to handle request'),
        (409, 'Conflict', 'Operation cannot be fulfilled on resourcequotas '
         f'"ci": {MODIFIED}'),
        (409, 'Conflict', f'Operation cannot be fulfilled on '
         f'serviceaccounts "np1": {MODIFIED}')],
    Kind.ATTEMPT: [
        (403, 'Forbidden', FORBIDDEN + 'unable to create new content in '
         'namespace ci because it is being terminated'),
        (400, 'BadRequest', 'Bad Request'),
        (405, 'MethodNotAllowed', 'the server does not allow this method'),
        (418, '', 'nothing that an API server says')],
    Kind.EXISTS: [
        (409, 'AlreadyExists', 'pods "np1" already exists'),
        (409, 'AlreadyExists', 'object is being deleted: pods "np1" already '
         'exists'),
        (409, '', 'pods "np1" already exists'),
        (409, 'Conflict', 'Operation cannot be fulfilled on pods "np1": '
         'StorageError: invalid object, Precondition failed: UID in '
         'precondition: 1, UID in object meta: 2'),
        (409, 'Conflict', 'Operation cannot be fulfilled on namespaces '
         '"np1": The system is ensuring all content is removed from this '
         'namespace.')],
    Kind.EXPIRED: [
        (410, 'Expired', 'The provided continue parameter is too old to '
         'display a consistent list result.'),
        (410, 'Gone', 'too old resource version: 1 (2)')],
    Kind.MISSING: [
        (404, '', '404 page not found'),
        (404, 'NotFound', 'the server could not find the requested resource'),
        (404, '', '')],
    Kind.NO_SUCH: [(404, 'NotFound', 'namespaces "ci" not found')],
    Kind.LOGIN: [(401, 'Unauthorized', 'Unauthorized')],
    Kind.PERMANENT: [
        (403, 'Forbidden', FORBIDDEN + 'failed quota: ci: must specify '
         'limits.memory for: node'),
        (403, 'Forbidden', FORBIDDEN + 'insufficient quota to match these '
         'scopes: [{PriorityClass In [high]}]'),
        (403, 'Forbidden', FORBIDDEN + 'violates PodSecurity '
         '"restricted:latest"'),
        (403, 'Forbidden', 'admission webhook "x" denied the request: no'),
        (400, 'BadRequest', 'Pod in version "v1" cannot be handled'),
        (413, 'RequestEntityTooLarge', 'Request entity too large'),
        (422, 'Invalid', 'Pod "np1" is invalid: spec.containers: Required'),
        (500, '', 'etcdserver: request is too large')],
    Kind.TEMPORARY: [
        (408, '', 'Request Timeout'),
        (429, 'TooManyRequests', 'too many requests, please try again later'),
        (500, 'InternalError', 'failed calling webhook "x": context deadline '
         'exceeded'),
        (503, 'ServiceUnavailable', 'apiserver is shutting down'),
        (504, 'Timeout', 'request did not complete within requested '
         'timeout')],
}
# Reason and message of containers that wait.
CONTAINERS = {
    Kind.TEMPORARY: [
        ('ErrImagePull', 'pull QPS exceeded'),
        ('ImagePullBackOff', 'Back-off pulling image "debian:12": '
         'ErrImagePull: pull QPS exceeded'),
        ('ErrImagePull', PULLING + 'failed to extract layer: write '
         '/var/lib/containerd/x: no space left on device'),
        ('ErrImagePull', 'rpc error: code = Canceled desc = ' + PULLING
         + 'context canceled'),
        ('ErrImagePull', PULLING + 'failed to do request: Head '
         '"https://registry.example.com/v2/debian": EOF'),
        ('ErrImagePull', 'EOF'),
        ('ErrImagePull', PULLING + 'unexpected EOF'),
        ('ErrImagePull', PULLING + 'dial tcp 192.0.2.1:443: i/o timeout'),
        ('ErrImagePull', PULLING + 'dial tcp: lookup registry.example.com on '
         '192.0.2.1:53: server misbehaving'),
        ('ErrImagePull', PULLING + 'unexpected status from HEAD request: 503 '
         'Service Unavailable'),
        ('ErrImagePull', PULLING + 'toomanyrequests: You have reached your '
         'pull rate limit'),
        ('RegistryUnavailable', 'the registry is not available'),
        ('CreateContainerConfigError', 'failed to sync secret cache: timed '
         'out waiting for the condition'),
        ('CreateContainerConfigError', 'services have not yet been read at '
         'least once, cannot construct envvars'),
        ('CreateContainerError', 'context deadline exceeded'),
        ('CreateContainerError', 'failed to reserve container name '
         '"node_np1_ci_0": name "node_np1_ci_0" is reserved for "1a2b"'),
        ('RunContainerError', 'context deadline exceeded'),
        ('RunContainerError', 'failed to reserve container name '
         '"node_np1_ci_0"'),
        ('RunContainerError', 'failed to create containerd task: mkdir '
         '/run/x: no space left on device'),
        ('RunContainerError', 'rpc error: code = Unavailable desc = '
         'connection error')],
    Kind.PERMANENT: [
        ('ErrImagePull', PULLING + 'docker.io/library/debian:12: not found'),
        ('ErrImagePull', 'manifest unknown'),
        ('ErrImagePull', 'pull access denied, repository does not exist or '
         'may require authorization'),
        ('ErrImagePull', PULLING + 'failed to authorize: failed to fetch '
         'anonymous token: unexpected status: 401 Unauthorized'),
        ('ErrImagePull', PULLING + 'no match for platform in manifest'),
        # Names of images say nothing.
        ('ErrImagePull', 'docker.io/timeout/eof:EOF: not found'),
        ('InvalidImageName', "couldn't parse image name"),
        ('ErrImageNeverPull', 'not present with pull policy of Never'),
        ('SignatureValidationFailed', 'image signature is not valid'),
        ('CreateContainerConfigError', 'secret "registry" not found'),
        ('RunContainerError', 'exec: "/bin/sh": stat /bin/sh: no such file '
         'or directory: unknown'),
        ('CreateContainerError', 'no command specified')],
    Kind.ATTEMPT: [
        ('ImagePullBackOff', 'Back-off pulling image "debian:12"'),
        ('ImageInspectError', 'Failed to inspect image'),
        ('RunContainerError', 'what is in no table'),
        ('CrashLoopBackOff', 'back-off 10s restarting failed container')],
    None: [
        ('ContainerCreating', None), ('PodInitializing', ''), (None, None)],
}
# Reason and message of pods that have ended.
ENDS = {
    Kind.CAPACITY: [
        ('Evicted', 'The node was low on resource: memory. Threshold '
         'quantity: 100Mi, available: 90Mi.'),
        ('NodeShutdown', 'Pod was rejected as the node is shutting down.'),
        ('OutOfcpu', 'Pod was rejected: Node didn\'t have enough resource'),
        ('OutOfephemeral-storage', ''), ('OutOfnvidia.com/gpu', ''),
        ('Preempting', 'Preempted in order to admit critical pod'),
        ('NodeAffinity', 'Predicate NodeAffinity failed'),
        ('TopologyAffinityError', 'Resources cannot be allocated'),
        ('UnexpectedAdmissionError', 'Allocate failed due to requested '
         'number of devices unavailable')],
    Kind.TEMPORARY: [
        ('Terminated', 'Pod was terminated in response to imminent node '
         'shutdown.'),
        ('Shutdown', 'Node is shutting, evicting pods'),
        ('NodeLost', 'Node machine which was running pod np1 is '
         'unresponsive')],
    Kind.PERMANENT: [('SysctlForbidden', 'forbidden sysctl: "kernel.msg"')],
    Kind.ATTEMPT: [
        ('Evicted', 'Pod ephemeral local storage usage exceeds the total '
         'limit of containers 1Gi. '),
        ('Evicted', 'Container node exceeded its local ephemeral storage '
         'limit "1Gi". '),
        ('Evicted', 'Usage of EmptyDir volume "tmp" exceeds the limit '
         '"1Gi". '),
        ('DeadlineExceeded', 'Pod was active on the node longer than the '
         'specified deadline'), (None, None)],
}
CONDITIONS = {
    Kind.CAPACITY: [
        ('PreemptionByScheduler', 'default-scheduler: preempting to '
         'accommodate a higher priority pod'),
        ('StoppedByKueue', 'Preempted to accommodate a higher priority '
         'Workload')],
    Kind.TEMPORARY: [
        ('DeletionByTaintManager', 'Taint manager: deleting due to NoExecute '
         'taint'),
        ('EvictionByEvictionAPI', 'Eviction API: evicting'),
        ('DeletionByPodGC', 'PodGC: node no longer exists'),
        ('TerminationByKubelet', 'Pod was terminated in response to imminent '
         'node shutdown.')],
    None: [('Unschedulable', 'no nodes are available'), (None, None)],
}
EVENTS = {
    Kind.CAPACITY: [
        ('Preempted', 'Preempted by pod 1a2b on node machine'),
        ('Evicted', 'The node was low on resource: memory.')],
    Kind.TEMPORARY: [
        ('TaintManagerEviction', 'Marking for deletion Pod ci/np1')],
    None: [
        ('TaintManagerEviction', 'Cancelling deletion of Pod ci/np1'),
        ('Killing', 'Stopping container node')],
}


def walk():
    """:return: yields speaker, what it says, and the kind of failure."""
    for kind, answers in ANSWERS.items():
        for answer in answers:
            yield Speaker.SERVER, answer, kind
    for speaker, said in ((Speaker.CONTAINER, CONTAINERS),
                          (Speaker.END, ENDS),
                          (Speaker.CONDITION, CONDITIONS),
                          (Speaker.EVENT, EVENTS)):
        for kind, each in said.items():
            for reason, message in each:
                yield speaker, ('', reason, message), kind


@pytest.mark.parametrize(('speaker', 'said', 'kind'), list(walk()))
def test_what_a_cluster_says_has_its_meaning(speaker, said, kind):
    row = getRow(speaker, *said)
    assert (row and row.kind) is kind


def test_each_row_of_the_table_is_said_somewhere():
    said = [getRow(speaker, *each) for speaker, each, _ in walk()]
    assert [row for row in TABLE if row not in said] == []


@pytest.mark.parametrize('row', TABLE)
def test_each_row_has_a_page_and_a_meaning_for_the_launcher(row):
    assert row.page.startswith('https://')
    error = makeError(row, 'what it says')
    assert classify(error) is {
        Kind.QUOTA: Failure.QUOTA, Kind.CAPACITY: Failure.CAPACITY,
        Kind.TEMPORARY: Failure.TEMPORARY, Kind.UNSETTLED: Failure.TEMPORARY,
        Kind.EXPIRED: Failure.TEMPORARY, Kind.PERMANENT: Failure.PERMANENT,
        Kind.FORBIDDEN: Failure.ATTEMPT, Kind.MISSING: Failure.ATTEMPT,
        Kind.NO_SUCH: Failure.PERMANENT, Kind.EXISTS: Failure.ATTEMPT,
        Kind.LOGIN: Failure.ATTEMPT, Kind.ATTEMPT: Failure.ATTEMPT,
    }[row.kind]
    assert str(error) == 'what it says'
