"""The meaning of failures that a cluster reports, in one table.

Each row has a kind of failure, the status codes, reasons or messages that mean
it, and the page that documents them.  The first matching row applies, so
special cases are above general ones.
"""

import dataclasses
import enum
import re


class Kind(enum.Enum):
    """The meaning of a failure for the node."""

    QUOTA = 'a quota is exhausted'
    CAPACITY = 'no machine has capacity'
    TEMPORARY = 'a later attempt may succeed'
    UNSETTLED = 'the same call may succeed in a moment'
    EXPIRED = 'the list has to be read again'
    PERMANENT = 'the cluster names a mistake in the configuration'
    LOGIN = 'the credentials are not accepted'
    FORBIDDEN = 'Zuul lacks the permission'
    MISSING = 'the object, or what should answer, does not exist'
    NO_SUCH = 'the object that the cluster names does not exist'
    EXISTS = 'the object exists, or another one of its name'
    ATTEMPT = 'this attempt has failed, and another one may succeed'


class Speaker(enum.Enum):
    """The component that reports a failure, and where."""

    SERVER = 'the API server: status code, reason and message of an answer'
    CONTAINER = 'the kubelet: why a container waits'
    END = 'the kubelet: why a pod has ended, or was not admitted'
    CONDITION = 'a component that deletes a pod: a condition of the pod'
    EVENT = 'a component that has deleted a pod: an event'


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table.

    :ivar str code: a regular expression for the whole status code.
    :ivar str reason: one for the whole reason.
    :ivar str message: one for a part of the message.
    :ivar str page: a URL.
    """

    speaker: Speaker
    kind: Kind
    page: str
    _: dataclasses.KW_ONLY
    code: str = ''
    reason: str = ''
    message: str = ''

    def fits(self, speaker, code, reason, message):
        return self.speaker is speaker and bool(
            (not self.code or re.fullmatch(self.code, str(code)))
            and (not self.reason or re.fullmatch(self.reason, reason))
            and (not self.message or re.search(
                self.message, message, re.IGNORECASE)))


DOCS = 'https://kubernetes.io/docs'
CODE = 'https://github.com/kubernetes/kubernetes/blob/master'
SERVER_CODE = f'{CODE}/staging/src/k8s.io/apiserver/pkg'
EVICTION = f'{DOCS}/concepts/scheduling-eviction'

STATUS = f'{DOCS}/reference/kubernetes-api/common-definitions/status/'
REASONS = f'{CODE}/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go'
GONE = f'{DOCS}/reference/using-api/api-concepts/#410-gone-responses'
QUOTAS = f'{DOCS}/concepts/policy/resource-quotas/'
ACCOUNTS = f'{DOCS}/reference/access-authn-authz/service-accounts-admin/'
NAMESPACES = f'{SERVER_CODE}/admission/plugin/namespace/lifecycle/admission.go'
TERMINATION = f'{CODE}/pkg/registry/core/namespace/storage/storage.go'
PRECONDITIONS = f'{SERVER_CODE}/storage/interfaces.go'
PLUGINS = f'{DOCS}/reference/access-authn-authz/admission-controllers/'
ETCD = 'https://etcd.io/docs/v3.5/dev-guide/limit/'
IMAGES = f'{DOCS}/concepts/containers/images/'
PULLER = f'{CODE}/pkg/kubelet/images/types.go'
RUNTIME = f'{CODE}/pkg/kubelet/kuberuntime/kuberuntime_container.go'
CONTAINERD = ('https://github.com/containerd/containerd/blob/main/'
              'internal/cri/server/container_create.go')
CRASHES = f'{DOCS}/concepts/workloads/pods/pod-lifecycle/#container-restarts'
ADMISSION = f'{CODE}/pkg/kubelet/lifecycle/predicate.go'
SYSCTLS = f'{CODE}/pkg/kubelet/sysctl/allowlist.go'
PRESSURE = f'{EVICTION}/node-pressure-eviction/'
LIMITS = f'{CODE}/pkg/kubelet/eviction/eviction_manager.go'
SHUTDOWN = f'{DOCS}/concepts/cluster-administration/node-shutdown/'
NODES = f'{DOCS}/concepts/architecture/nodes/'
DISRUPTIONS = (f'{DOCS}/concepts/workloads/pods/disruptions/'
               '#pod-disruption-conditions')
TAINTS = f'{EVICTION}/taint-and-toleration/'
PREEMPTION = f'{EVICTION}/pod-priority-preemption/'
KUEUE = 'https://kueue.sigs.k8s.io/docs/concepts/preemption/'

PULL = 'ErrImagePull|ImagePullBackOff'
RUN = 'CreateContainerError|RunContainerError|(Pre|Post)\\w+HookError'
# Temporary failures of a registry or a machine.  The name of an image cannot
# match these patterns.
PASSING = '|'.join((
    r'i/o timeout', r'handshake timeout', r'Client\.Timeout',
    r'gateway time-?out', r'timed out', r'deadline exceeded',
    r'code = (?:DeadlineExceeded|Unavailable)', r'context cancel+ed',
    r'request cancel+ed',
    r'connection (?:refused|reset)', r'broken pipe', r'(?:^|\s)EOF\b',
    r'server sent GOAWAY', r'; INTERNAL_ERROR', r'ttrpc: closed', r'dial unix',
    r'no such host', r'server misbehaving', r'temporary failure',
    r'network is unreachable', r'no route to host', r'pull QPS exceeded',
    r'(?:^|\s)toomanyrequests: ', r'\b(?:429|5\d\d) [A-Z]',
    r'no space left on device', r'cannot allocate memory',
    r'resource temporarily unavailable', r'device or resource busy'))
REFUSED = '|'.join((
    r'not found', r'\w+ unknown', r'does not exist', r'access denied',
    r'is denied', r'(?:^|\s)denied: ', r'authorization failed',
    r'\b40[13] [A-Z]', r'unauthorized', r'insufficient_scope',
    r'no basic auth credentials', r'authentication required',
    r'no match(?:ing manifest)? for', r'invalid reference',
    r'unsupported (?:media type|manifest)'))
UNFIT = '|'.join((
    r'executable file not found', r'no command specified',
    r'exec format error', r'not a directory',
    r'\bexec\b.* (?:no such file or directory|permission denied)'))

SERVER, CONTAINER, END, CONDITION, EVENT = Speaker

TABLE = (
    # Answers of the API server.
    # A request that exceeds the total quota is permanent (errors.translate).
    Row(SERVER, Kind.QUOTA, QUOTAS, code='403', message='exceeded quota'),
    Row(SERVER, Kind.UNSETTLED, QUOTAS, code='403',
        message='status unknown for quota'),
    Row(SERVER, Kind.UNSETTLED, ACCOUNTS, code='403',
        message='error looking up service account'),
    # Before Kubernetes 1.24, accounts must have their tokens.
    Row(SERVER, Kind.UNSETTLED, ACCOUNTS, code='500',
        message='No API token found for service account'),
    # The API server has just started.
    Row(SERVER, Kind.UNSETTLED, NAMESPACES, code='403',
        message='not yet ready to handle request'),
    Row(SERVER, Kind.ATTEMPT, NAMESPACES, code='403',
        message='is being terminated'),
    Row(SERVER, Kind.EXISTS, TERMINATION, code='409',
        message='all content is removed'),
    Row(SERVER, Kind.EXISTS, PRECONDITIONS, code='409',
        message='Precondition failed: UID'),
    Row(SERVER, Kind.EXISTS, REASONS, code='409', reason='AlreadyExists'),
    # A proxy may omit the reason.
    Row(SERVER, Kind.EXISTS, REASONS, code='409', message='already exists'),
    # Concurrent changes of an object such as a quota.
    Row(SERVER, Kind.UNSETTLED, REASONS, code='409'),
    Row(SERVER, Kind.EXPIRED, GONE, code='410'),
    Row(SERVER, Kind.PERMANENT, ETCD, code='500',
        message='request is too large|larger than max'),
    # Admission names the rule; without it, Zuul's user lacks a permission.
    Row(SERVER, Kind.PERMANENT, PLUGINS, code='403',
        message='is forbidden: (?!User )|denied the request'),
    Row(SERVER, Kind.FORBIDDEN, STATUS, code='403'),
    Row(SERVER, Kind.NO_SUCH, STATUS, code='404', message='" not found'),
    Row(SERVER, Kind.MISSING, STATUS, code='404'),
    Row(SERVER, Kind.LOGIN, STATUS, code='401'),
    Row(SERVER, Kind.PERMANENT, STATUS, code='400',
        message='cannot be handled|unable to decode|unmarshal'),
    Row(SERVER, Kind.PERMANENT, STATUS, code='413|422'),
    Row(SERVER, Kind.TEMPORARY, STATUS, code='408|425|429|5..'),
    Row(SERVER, Kind.ATTEMPT, STATUS),

    # Containers that wait.  With other reasons, they are starting.
    Row(CONTAINER, Kind.TEMPORARY, PULLER, reason=PULL, message=PASSING),
    Row(CONTAINER, Kind.TEMPORARY, PULLER, reason='RegistryUnavailable'),
    Row(CONTAINER, Kind.PERMANENT, PULLER, reason='InvalidImageName|'
        'ErrImageNeverPull|SignatureValidationFailed'),
    Row(CONTAINER, Kind.PERMANENT, IMAGES, reason=PULL, message=REFUSED),
    # Only newer releases report the reason of a back-off.
    Row(CONTAINER, Kind.ATTEMPT, IMAGES, reason=f'{PULL}|ImageInspectError'),
    # The kubelet gave up an earlier call that is still running.
    Row(CONTAINER, Kind.TEMPORARY, CONTAINERD, reason=RUN,
        message='failed to reserve container name|is reserved for|'
        'is already in use'),
    Row(CONTAINER, Kind.TEMPORARY, RUNTIME,
        reason='CreateContainerConfigError',
        message=rf'failed to sync \w+ cache|not yet been read|{PASSING}'),
    Row(CONTAINER, Kind.PERMANENT, RUNTIME,
        reason='CreateContainerConfigError'),
    Row(CONTAINER, Kind.TEMPORARY, RUNTIME, reason=RUN, message=PASSING),
    Row(CONTAINER, Kind.PERMANENT, RUNTIME, reason=RUN, message=UNFIT),
    Row(CONTAINER, Kind.ATTEMPT, RUNTIME, reason=RUN),
    Row(CONTAINER, Kind.ATTEMPT, CRASHES, reason='CrashLoopBackOff'),

    # Pods that have ended, or that a kubelet has not admitted.
    # The first row is for pods that have exceeded their disk limits.
    Row(END, Kind.ATTEMPT, LIMITS, reason='Evicted',
        message=r'exceed(?:s|ed) (?:its|the) .*limit'),
    Row(END, Kind.CAPACITY, PRESSURE, reason='Evicted'),
    Row(END, Kind.CAPACITY, SHUTDOWN, reason='NodeShutdown'),
    # Kubernetes 1.20 reports "Shutdown".
    Row(END, Kind.TEMPORARY, SHUTDOWN, reason='Terminated|Shutdown'),
    Row(END, Kind.CAPACITY, ADMISSION, reason=r'OutOf.+|Preempting|'
        r'NodeAffinity|NodeName|NodePorts|NodeUnschedulable|TaintToleration|'
        r'TopologyAffinityError|UnexpectedAdmissionError'),
    Row(END, Kind.PERMANENT, SYSCTLS, reason='SysctlForbidden'),
    Row(END, Kind.TEMPORARY, NODES, reason='NodeLost'),
    Row(END, Kind.ATTEMPT, CRASHES),

    # Pods that the cluster deletes, or has deleted.
    Row(CONDITION, Kind.CAPACITY, DISRUPTIONS,
        reason='PreemptionByScheduler'),
    Row(CONDITION, Kind.TEMPORARY, DISRUPTIONS, reason=r'DeletionBy\w+|'
        'EvictionByEvictionAPI|TerminationByKubelet'),
    Row(CONDITION, Kind.CAPACITY, KUEUE, reason='StoppedByKueue'),
    # Another event cancels the deletion.
    Row(EVENT, Kind.TEMPORARY, TAINTS, reason='TaintManagerEviction',
        message='Marking for deletion'),
    Row(EVENT, Kind.CAPACITY, PREEMPTION, reason='Preempted|Preempting'),
    Row(EVENT, Kind.CAPACITY, PRESSURE, reason='Evicted'),
)


def getRow(speaker, code='', reason='', message=''):
    """
    :param Speaker speaker: the component that reports it.
    :param code: a status code of HTTP, if there is one.
    :param str reason: one word, or None.
    :param str message: a sentence, or None.
    :return: the matching :class:`Row`; None if it is not a failure.
    """
    return next((row for row in TABLE if row.fits(
        speaker, code, reason or '', message or '')), None)
