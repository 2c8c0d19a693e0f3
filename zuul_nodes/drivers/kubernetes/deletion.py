"""The end of pods and namespaces."""

import time

from zuul_nodes.drivers.kubernetes.errors import Exists, Forbidden, Missing
from zuul_nodes.drivers.kubernetes.machine import Machine, Pending

# Seconds until it is known of a pod that it is to be deleted.
SETTLING = 30


class KubernetesDeleteStateMachine(Machine):
    """Has the cluster remove what there is of a node.

    It takes its time, or more than that: what hangs in it holds up nobody.
    But as long as a quota that others have, too, counts a pod, it counts here.
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
                self._remove()
                self.state = (self.COMPLETE if self.place.is_own
                              else self.ENDING)
            elif self.state == self.ENDING and self._hasEnded():
                self.state = self.COMPLETE
        except Pending:
            return
        self.complete = self.state == self.COMPLETE

    def _waitForCalls(self):
        calls = self.endpoint.calls
        # What is asked for now might be made behind our back.
        if all(calls.isIdle(self.node.uuid, name) for name in self.CREATING):
            calls.forgetCalls(self.node.uuid)
            self.state = self.REMOVING

    def _hasEnded(self):
        self._begin()
        pod = self._findPod()
        if pod is None:
            return self._isMissing()
        # Another one may have the name.
        is_ours = pod.uid == self.uid if self.uid else pod.deleted
        patience = pod.patience if pod.deleted else SETTLING
        return not is_ours or time.monotonic() > self._begun + patience

    def _isMissing(self):
        """:return: whether the API server has no pod of this node, of which
            nothing was told."""
        try:
            self._read()
        except Missing:
            return True
        return False

    def _remove(self):
        place = self.place
        try:
            # Whoever has made it may not have lived to tell.
            self.uid = self.uid or self._read()['metadata'].get('uid')
            if not place.is_own:
                self._once('deletePod', place.namespace, place.pod, self.uid)
            else:
                self._once('deleteProject' if self.uses_projects
                           else 'deleteNamespace', place.namespace, self.uid)
        except (Missing, Forbidden) as error:
            # OpenShift does not tell what projects there are not.
            if isinstance(error, Forbidden) and not (
                    place.is_own and self.uses_projects):
                raise
            self.log.debug('There is no %s of node %s any more',
                           place.thing, self.node.uuid)
        except Exists as error:
            # It goes already, or it is another one of that name.
            self.log.info('Node %s: %s', self.node.uuid, error)
