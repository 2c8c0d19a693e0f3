"""The state machine that deletes pods and namespaces."""

import time

from zuul_nodes.drivers.kubernetes.errors import Exists, Forbidden, Missing
from zuul_nodes.drivers.kubernetes.machine import (
    KubernetesStateMachine,
    Pending,
)

# Seconds until the API server has to mark a pod as being deleted.
SETTLING = 30


class KubernetesDeleteStateMachine(KubernetesStateMachine):
    """Has the cluster delete the resources of a node.

    The state machine does not wait for the deletion of a namespace, which may
    hang.  It waits for a pod in a shared namespace while the quota of the
    namespace includes it.
    """

    REMOVING = 'removing'
    ENDING = 'waiting for the end of the pod'
    CREATING = ('createNamespace', 'createProject', 'createPod',
                'createAccount', 'createSecret', 'createRole',
                'createRoleBinding', 'createToken')

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log, node.delete_state)

    def advance(self):
        try:
            if self.state == self.START:
                self._waitForCalls()
            elif self.state == self.REMOVING:
                self._requestDeletion()
                self.state = (self.COMPLETE if self.place.is_own
                              else self.ENDING)
            elif self.state == self.ENDING and self._hasEnded():
                self.state = self.COMPLETE
        except Pending:
            return
        self.complete = self.state == self.COMPLETE

    def _waitForCalls(self):
        calls = self.endpoint.calls
        # A running request could create a resource afterwards.
        if all(calls.isIdle(self.node.uuid, name) for name in self.CREATING):
            calls.forgetCalls(self.node.uuid)
            self.state = self.REMOVING

    def _hasEnded(self):
        self._begin()
        pod = self._findPod()
        if pod is None:
            return self._isMissing()
        # Another pod may have the same name.
        is_ours = pod.uid == self.uid if self.uid else pod.deleted
        seconds = pod.quota_seconds if pod.deleted else SETTLING
        return not is_ours or time.monotonic() > self._begun + seconds

    def _isMissing(self):
        """:return: whether the API server has no pod of this node, for a pod
            that the watch has not reported."""
        try:
            self._read()
        except Missing:
            return True
        return False

    def _requestDeletion(self):
        place = self.place
        try:
            # The launcher that created it may have died before it recorded it.
            self.uid = self.uid or self._read()['metadata'].get('uid')
            if not place.is_own:
                self._once('deletePod', place.namespace, place.pod, self.uid)
            else:
                self._once('deleteProject' if self.uses_projects
                           else 'deleteNamespace', place.namespace, self.uid)
        except (Missing, Forbidden) as error:
            # OpenShift forbids access to projects that do not exist.
            if isinstance(error, Forbidden) and not (
                    place.is_own and self.uses_projects):
                raise
            self.log.debug('The %s of node %s does not exist any more',
                           place.thing, self.node.uuid)
        except Exists as error:
            # It is being deleted, or another one has the name.
            self.log.info('Node %s: %s', self.node.uuid, error)
