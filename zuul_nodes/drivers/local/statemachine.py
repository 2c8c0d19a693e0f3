"""The lives of nodes on this machine.

What there is on the machine tells how far a node has come; the states are
for people.  So every step can be repeated by any launcher of the machine,
and one that was killed at any point is replaced.
"""

import uuid

from zuul.provider import statemachine

from zuul_nodes.drivers.local import sandbox
from zuul_nodes.drivers.local.endpoint import SNAPSHOT
from zuul_nodes.drivers.local.model import LocalInstance
from zuul_nodes.drivers.local.sandbox import LocalError

# How often a node is started, in case others take its port.
STARTS = 5


class LocalCreateStateMachine(statemachine.StateMachine):
    """
    :param LocalEndpoint endpoint: where.
    :param LocalProviderNode node: that is to be made.
    :param LocalImage image: of its label.
    :param str image_external_id: of the upload, if the image has any.
    """

    BUILDING = 'copying the image'
    BOOTING = 'booting'

    def __init__(self, endpoint, node, image, image_external_id, log):
        super().__init__(node.create_state)
        self.log = log
        self.endpoint = endpoint
        self.machines = endpoint.machines
        self.node = node
        self.image = image
        self.image_external_id = node.create_state.get(
            'image_external_id', image_external_id)
        self.starts = node.create_state.get('starts', 0)

    def toDict(self):
        return super().toDict() | {
            'image_external_id': self.image_external_id,
            'starts': self.starts}

    def advance(self):
        """
        :return: the instance, when it is there.
        :raises LocalError: it will never be.
        """
        name = self.node.uuid
        if self.state == self.START:
            self.machines.add(name, self.node.tags, self.image.username)
            self.state = self.BUILDING
        if self.state == self.BUILDING:
            if not self.machines.isBuilt(name) and not self.endpoint.perform(
                    name, self.endpoint.build, name, self.image,
                    self.image_external_id):
                return None
            self.state = self.BOOTING
        if self.state == self.BOOTING and self._boot(name):
            self.state = self.COMPLETE
        if self.state != self.COMPLETE:
            return None
        instance = LocalInstance(name, self.machines.get(name))
        self.node.updateFromInstance(instance)
        self.complete = True
        return instance

    def _boot(self, name):
        """:return: whether one can log in."""
        if self.machines.isRunning(name):
            return self.machines.isListening(name)
        self.machines.checkStart(name)
        if self.starts == STARTS:
            raise LocalError(
                f'The node has not started in {STARTS} attempts', 'temporary')
        self.starts += 1
        self.machines.start(name)
        return False


class LocalDeleteStateMachine(statemachine.StateMachine):
    """
    :param LocalEndpoint endpoint: where.
    :param LocalProviderNode node: that is to go.
    """

    REMOVING = 'removing'

    def __init__(self, endpoint, node, log):
        super().__init__(node.delete_state)
        self.log = log
        self.endpoint = endpoint
        self.node = node

    def advance(self):
        name = self.node.uuid
        if self.state == self.START:
            # Nothing may make anything of it behind our back.
            sandbox.kill(name)
            if not self.endpoint.isIdle(name):
                return
            self.state = self.REMOVING
        if self.state == self.REMOVING and self.endpoint.perform(
                name, self.endpoint.machines.remove, name):
            self.state = self.COMPLETE
        if self.state == self.COMPLETE:
            self.complete = True


class LocalSnapshotStateMachine(statemachine.StateMachine):
    """
    :param LocalEndpoint endpoint: where.
    :param LocalProviderNode node: of which an image is to be made.
    """

    COPYING = 'copying the file system'

    def __init__(self, endpoint, node, log):
        super().__init__(node.snapshot.snapshot_state)
        self.log = log
        self.endpoint = endpoint
        self.node = node
        self.image_name = node.snapshot.snapshot_state.get(
            'image_name', uuid.uuid4().hex)

    def toDict(self):
        return super().toDict() | {'image_name': self.image_name}

    def advance(self):
        """:return: what the artifact has for its URL, when it is there."""
        if self.state == self.START:
            self.state = self.COPYING
        elif self.state == self.COPYING and self.endpoint.perform(
                self.node.uuid, self.endpoint.snapshot, self.node.uuid,
                self.image_name, self.node.snapshot.tags):
            self.state = self.COMPLETE
        if self.state != self.COMPLETE:
            return None
        self.complete = True
        return SNAPSHOT + self.image_name
