"""Pods, as the nodes that wait for them see them.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

import re

from zuul.driver.kubernetes.kubernetesmodel import KubernetesInstance
from zuul.model import QuotaInformation

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.kubernetes.metadata import getTags
from zuul_nodes.drivers.kubernetes.quantities import getNeeds

ENDED = ('Failed', 'Succeeded')
# Why a pod has failed that its machine had no room for, after all.
NO_ROOM = re.compile(r'OutOf\w+|Evicted|Preempt\w+|NodeShutdown|NodeLost|'
                     r'UnexpectedAdmissionError')
# Why a container waits that will not run as it is configured.
WRONG = ('CreateContainerConfigError', 'CreateContainerError',
         'RunContainerError', 'InvalidImageName', 'ErrImageNeverPull')
ERROR = 'ErrImagePull'
UNPULLED = (ERROR, 'ImagePullBackOff')
CRASHED = 'CrashLoopBackOff'
# What is said of a registry that may be there a little later.
UNREACHABLE = re.compile(
    r'time-?out|timed out|deadline exceeded|connection (?:refused|reset)|'
    r'no such host|temporary failure|toomanyrequests|'
    r'\b(?:429|5\d\d) [A-Z]|TLS handshake|unexpected EOF|'
    r'network is unreachable|no route to host', re.IGNORECASE)
BACK_OFF = 'Back-off pulling image'


class Pod(KubernetesInstance):
    """
    :param dict data: what the API server says.
    """

    def __init__(self, data):
        self.data = data
        metadata, status = data['metadata'], data.get('status') or {}
        self.namespace = metadata['namespace']
        self.name = metadata['name']
        self.uid = metadata.get('uid')
        self.phase = status.get('phase')
        super().__init__(
            'pod', self.name, getTags(data),
            QuotaInformation(pods=1, **getNeeds(data['spec']))
            if self.uses_resources else QuotaInformation())
        self.interface_ip = self.private_ipv4 = status.get('podIP')
        self.host_id = data['spec'].get('nodeName')
        self.deleted = bool(metadata.get('deletionTimestamp'))
        self.ready = (
            not self.deleted and self.phase == 'Running'
            and self._getState(self._getFirst()).get('running') is not None)

    @property
    def patience(self):
        """For how many seconds quotas count a pod that is to be deleted."""
        # It is to end after that time, and they give it as much once more.
        return 2 * self.data['metadata'].get('deletionGracePeriodSeconds', 0)

    @property
    def uses_resources(self):
        return self.phase not in ENDED

    @property
    def obstacle(self):
        """What the scheduler says of a pod that it has no place for, or an
        empty string."""
        for condition in self._getStatus('conditions'):
            if (condition.get('type') == 'PodScheduled'
                    and condition.get('status') == 'False'):
                return (condition.get('message') or condition.get('reason')
                        or 'the scheduler has no place for it')
        return ''

    def check(self):
        """
        :raises DriverError: it does not come up.
        """
        if self.deleted:
            raise DriverError(f'Pod {self.name} is being deleted')
        if self.phase in ENDED:
            self._raiseEnd()
        for container in (*self._getStatus('initContainerStatuses'),
                          *self._getStatus('containerStatuses')):
            self._checkContainer(container)

    def _raiseEnd(self):
        status = self.data['status']
        reason = status.get('reason') or ''
        said = [status.get('message')] + [
            _describeEnd(container) for container
            in self._getStatus('containerStatuses')]
        kind = CapacityError if NO_ROOM.fullmatch(reason) else DriverError
        raise kind(f'Pod {self.name} has ended ({reason or self.phase}): '
                   + ('; '.join(filter(None, said))
                      or 'the cluster does not say why'))

    def _checkContainer(self, container):
        waiting = self._getState(container).get('waiting') or {}
        reason = waiting.get('reason')
        message = (f'Container {container["name"]} of pod {self.name} does '
                   f'not come up: {reason}: {waiting.get("message")}')
        if reason in WRONG:
            raise PermanentError(message)
        if reason == CRASHED:
            raise DriverError(f'{message} {_describeEnd(container)}')
        if reason in UNPULLED:
            raise self._getPullError(message)

    def _getPullError(self, message):
        if UNREACHABLE.search(message):
            return TemporaryError(message)
        # Only newer releases still tell the reason then.
        if BACK_OFF in message and ERROR not in message:
            return DriverError(message)
        return PermanentError(message)

    def _getFirst(self):
        """:return: the status of the container that jobs use, a dict."""
        name = self.data['spec']['containers'][0]['name']
        return next((container for container
                     in self._getStatus('containerStatuses')
                     if container['name'] == name), {})

    def _getStatus(self, key):
        return (self.data.get('status') or {}).get(key) or ()

    def _getState(self, container):
        return container.get('state') or {}


class Namespace(KubernetesInstance):
    """
    :param dict data: what the API server says, of a namespace or project.
    """

    def __init__(self, data):
        metadata = data['metadata']
        self.name = metadata['name']
        self.uid = metadata.get('uid')
        super().__init__('namespace', self.name, getTags(data),
                         QuotaInformation(namespaces=1))
        self.deleted = bool(metadata.get('deletionTimestamp'))


def _describeEnd(container):
    for state in (container.get('state'), container.get('lastState')):
        if ended := (state or {}).get('terminated'):
            return (f'container {container["name"]} has ended with status '
                    f'{ended.get("exitCode")}: {ended.get("reason")} '
                    f'{ended.get("message") or ""}').strip()
    return ''
