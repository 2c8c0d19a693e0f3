"""Pods and namespaces, as seen by nodes that wait for them.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from zuul.driver.kubernetes.kubernetesmodel import KubernetesInstance
from zuul.model import QuotaInformation

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.kubernetes.errors import makeError
from zuul_nodes.drivers.kubernetes.meanings import Speaker, getRow
from zuul_nodes.drivers.kubernetes.metadata import getTags
from zuul_nodes.drivers.kubernetes.quantities import getNeeds

ENDED = ('Failed', 'Succeeded')
GATED = 'SchedulingGated'


class Removed(DriverError):
    """A pod does not exist or is being deleted, for an unknown reason."""


class Pod(KubernetesInstance):
    """A pod.

    :param dict data: the answer of the API server.
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

    def isReady(self, name):
        """:param str name: of the container that jobs use."""
        return (not self.deleted and self.phase == 'Running' and any(
            self._getState(container).get('running') is not None
            for container in self._getStatus('containerStatuses')
            if container['name'] == name))

    @property
    def quota_seconds(self):
        """Seconds for which a quota includes a pod that is being deleted."""
        # Kubernetes excludes it after twice its grace period.
        return 2 * self.data['metadata'].get('deletionGracePeriodSeconds', 0)

    @property
    def uses_resources(self):
        return self.phase not in ENDED

    @property
    def problem(self):
        """The reason why a ready node cannot use the pod, or None."""
        try:
            self.check()
        except DriverError as error:
            return str(error)
        return None

    @property
    def blocker(self):
        """The scheduler's reason why the pod has no machine, or an empty
        string.

        The scheduler ignores a pod with a gate, such as that of a queue.
        https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/
        """
        if self.data['spec'].get('schedulingGates'):
            return ''
        for condition in self._getStatus('conditions'):
            if (condition.get('type') == 'PodScheduled'
                    and condition.get('status') == 'False'
                    and condition.get('reason') != GATED):
                return (condition.get('message') or condition.get('reason')
                        or 'the scheduler has found no machine for it')
        return ''

    def check(self):
        """
        :raises DriverError: the pod has failed or is being deleted.
        """
        if self.phase in ENDED:
            self._raiseEnd()
        self._checkConditions()
        if self.deleted:
            raise Removed(f'Pod {self.name} is being deleted')
        for container in (*self._getStatus('initContainerStatuses'),
                          *self._getStatus('containerStatuses')):
            self._checkContainer(container)

    def _raiseEnd(self):
        status = self.data['status']
        reason, message = status.get('reason'), status.get('message')
        row = getRow(Speaker.END, reason=reason, message=message)
        if not reason:
            self._checkConditions()
        said = [message] + [
            _describeEnd(container) for container
            in self._getStatus('containerStatuses')]
        raise makeError(row, (
            f'Pod {self.name} has ended ({reason or self.phase}): '
            + ('; '.join(filter(None, said))
               or 'the cluster reports no reason')))

    def _checkConditions(self):
        """
        :raises DriverError: the cluster reports that it deletes the pod.
        """
        for condition in self._getStatus('conditions'):
            reason, message = condition.get('reason'), condition.get('message')
            row = condition.get('status') == 'True' and getRow(
                Speaker.CONDITION, reason=reason, message=message)
            if row:
                raise makeError(row, (
                    f'The cluster deletes pod {self.name} ({reason}): '
                    f'{message or "it reports no reason"}'))

    def _checkContainer(self, container):
        waiting = self._getState(container).get('waiting') or {}
        reason, message = waiting.get('reason'), waiting.get('message')
        row = getRow(Speaker.CONTAINER, reason=reason, message=message)
        if row:
            raise makeError(row, (
                f'Container {container["name"]} of pod {self.name} does not '
                f'start: {reason}: {message} '
                + _describeEnd(container)).strip())

    def _getStatus(self, key):
        return (self.data.get('status') or {}).get(key) or ()

    def _getState(self, container):
        return container.get('state') or {}


class Namespace(KubernetesInstance):
    """A namespace or project.

    :param dict data: the answer of the API server.
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
