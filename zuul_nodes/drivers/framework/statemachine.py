"""State machines that create and delete the nodes of any adapter.

A state machine does one step at a time and records the completed steps in its
state.  The launcher writes the state to the node's record between two steps,
so any launcher can continue.  A launcher finds the result of an unrecorded
step in the cloud by the node's tags.
"""

from collections.abc import Iterable, Iterator, Mapping
import math
import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from zuul.model import ProviderNode
from zuul.provider import statemachine

from zuul_nodes.drivers.api.errors import CapacityError, DriverError, Log
from zuul_nodes.drivers.api.model import (
    Ability,
    ImageSpec,
    Instance,
    InstanceSpec,
    State,
)
from zuul_nodes.drivers.framework.listing import Listing

if TYPE_CHECKING:
    from zuul_nodes.drivers.framework.endpoint import EndpointWithAdapter
    from zuul_nodes.drivers.framework.provider import ProviderWithAdapter

NODE_TAG = 'zuul_node_uuid'
# The method of adapters.
CREATE = 'createInstance'


class Listed(Protocol):
    """An instance, or another resource of a node, in a list of the cloud."""

    @property
    def id(self) -> str:
        ...

    @property
    def state(self) -> State:
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        ...


Found = TypeVar('Found', bound=Listed)


class CreateStateMachine(statemachine.StateMachine):
    """Creates the instance of a node.

    :param provider: that launches the node.
    :param node: the node to launch.
    :param image_external_id: of the upload, if the image has any.
    """

    state: str
    complete: bool

    MOVING = 'the instance goes to another zone'
    ASKED = 'asked for an instance'
    BOOTING = 'the instance boots'

    def __init__(self, provider: 'ProviderWithAdapter', node: ProviderNode,
                 image_external_id: str | None, log: Log) -> None:
        super().__init__(node.create_state)
        self.log = log
        self.provider = provider
        self.endpoint = provider.getEndpoint()
        self.node = node
        # Launchers read this field to see which images are in use.
        self.image_external_id = node.create_state.get(
            'image_external_id', image_external_id)
        self.instance_id: str | None = node.create_state.get('instance_id')
        # Zones without capacity.
        self.full: list[str | None] = list(node.create_state.get('full', ()))
        # Whether an existing instance of the node would be known.
        self.is_sure = Ability.UNIQUE_NAMES in self.endpoint.abilities
        # Deletes an instance in a zone without capacity.
        self.removal: Removal | None = None
        # Lists since then contain the instances of earlier attempts.
        self.since = time.monotonic()

    def toDict(self) -> dict[str, Any]:
        return super().toDict() | {
            'image_external_id': self.image_external_id,
            'instance_id': self.instance_id, 'full': self.full}

    def advance(self) -> Instance | None:
        """
        :return: the instance once it is ready, otherwise None.
        :raises Exception: the launch has failed.
        """
        if self.state == self.START and self._findExisting():
            self.state = self.ASKED
        if self.state == self.MOVING and self._leaveZone():
            self.state = self.ASKED
        # A launcher may have died between its request and the answer.
        if (self.state == self.ASKED and self._findExisting()
                and self._createInstance()):
            self.state = self.BOOTING
        # The launcher that has completed the state machine may have died.
        if self.complete or self.state not in (self.BOOTING, self.COMPLETE):
            return None
        instance = self._findReady()
        if instance is None:
            return None
        quota = self.node.quota
        self.node.updateFromInstance(instance)
        if not instance.needs and quota.getResources():
            # The list does not report needs: keep those of the label.
            self.node.quota = quota
        self.state = self.COMPLETE
        self.complete = True
        # For the deletion: the state is not read from the machine any more.
        self.node.create_state = self.toDict()
        return instance

    def judge(self, error: DriverError) -> DriverError:
        """
        :param error: with which the last zone refuses the instance.
        :return: the error to raise: by default, the same.
        """
        return error

    def _findExisting(self) -> bool:
        """:return: whether an existing instance of the node would be known."""
        if self.is_sure:
            return True
        if not self.endpoint.calls.isIdle(self.node.uuid, CREATE):
            # A later list has to contain the result of that call.
            self.since = math.inf
            return False
        self.since = min(self.since, time.monotonic())
        instances = self.endpoint.listing.get(self.since)
        if instances is None:
            return False
        for instance in findInstances(instances, self.node):
            self.instance_id = instance.id
        self.is_sure = True
        return True

    def _createInstance(self) -> bool:
        """:return: whether the cloud has accepted the request."""
        if self.instance_id:
            return True
        zone, *others = self._getZones()
        try:
            task = self.endpoint.calls.perform(
                self.node.uuid, CREATE, self._getSpec(zone))
            if task is None:
                return False
            self.instance_id = task.result().id
        except CapacityError as error:
            if not others:
                raise self.judge(error) from error
            self.full.append(zone)
            self.log.info('Zone %s has no capacity for node %s: %s',
                          zone, self.node.uuid, error)
            return False
        self.since = time.monotonic()
        return True

    def _leaveZone(self) -> bool:
        """:return: whether the instance in the full zone has been deleted."""
        if self.removal is None:
            self.removal = Removal(self.endpoint, self.node, self.instance_id)
        if not self.removal.isComplete():
            return False
        self.removal = self.instance_id = None
        self.full.append(self._getZones()[0])
        return True

    def _getZones(self) -> list[str | None]:
        """:return: the zones that are not known to be full, the preferred one
            first."""
        zones = self.provider.getZones(self.node)
        return [zone for zone in zones if zone not in self.full] or zones[:1]

    def _getSpec(self, zone: str | None) -> InstanceSpec:
        return self.provider.makeSpec(
            self.provider.labels[self.node.label],
            name=f'np{self.node.uuid}', tags=self.node.tags,
            image_id=self.image_external_id, zone=zone)

    def _findReady(self) -> Instance | None:
        """:return: the instance if it is ready."""
        listing = self.endpoint.listing
        instances = listing.get(self.since)
        if instances is None:
            return None
        for instance in instances:
            if instance.id == self.instance_id:
                break
        else:
            if time.monotonic() > self.since + listing.appearance_timeout:
                raise DriverError(
                    f'Instance {self.instance_id} has vanished')
            return None
        if instance.state in (State.FAILED, State.DELETED):
            error = (instance.error or DriverError)(
                f'Instance {instance.id} is {instance.state.value}: '
                f'{instance.message or "the cloud does not say why"}')
            if not (isinstance(error, CapacityError)
                    and self._getZones()[1:]):
                raise self.judge(error)
            self.log.info('Trying another zone for node %s: %s',
                          self.node.uuid, error)
            self.state = self.MOVING
            return None
        return instance if instance.state is State.READY else None


class DeleteStateMachine(statemachine.StateMachine):
    """Deletes the instances of a node.

    :param provider: that has launched the node.
    :param node: the node to delete.
    """

    state: str
    complete: bool

    REMOVING = 'the instance is removed'

    def __init__(self, provider: 'ProviderWithAdapter', node: ProviderNode,
                 log: Log) -> None:
        super().__init__(node.delete_state)
        self.log = log
        self.endpoint = provider.getEndpoint()
        self.node = node
        self.removal = Removal(
            self.endpoint, node, node.create_state.get('instance_id'))

    def advance(self) -> None:
        if self.state == self.START:
            # A running request could create an instance afterwards.
            if not self.endpoint.calls.isIdle(self.node.uuid, CREATE):
                return
            self.endpoint.calls.forgetCalls(self.node.uuid)
            self.removal.begin()
            self.state = self.REMOVING
        if self.state == self.REMOVING and self.removal.isComplete():
            self.state = self.COMPLETE
        if self.state == self.COMPLETE:
            self.complete = True


class Removal:
    """Deletes all instances of a node, or all of its resources of one kind.

    :param endpoint: of the instances.
    :param instance_id: of a known instance of the node, or None.
    :param listing: lists the resources; by default, instances.
    :param method: of the adapter that deletes one resource.
    :ivar repeat_interval: seconds after which the deletion of an existing
        resource is repeated.
    """

    repeat_interval: float = 60

    def __init__(self, endpoint: 'EndpointWithAdapter', node: ProviderNode,
                 instance_id: str | None, listing: Listing[Any] | None = None,
                 method: str = 'deleteInstance') -> None:
        self.endpoint = endpoint
        self.node = node
        self.instance_id = instance_id
        self.listing = listing or endpoint.listing
        self.method = method
        # Id -> when the cloud was asked to delete it.
        self.asked: dict[str, float] = {}
        self.begin()

    def begin(self) -> None:
        """Require a list that is requested from now on."""
        self.since = time.monotonic()

    def isComplete(self) -> bool:
        """Continue the deletion; to be called until it returns true.

        :return: whether all instances have been deleted.
        """
        if self.instance_id and not self._remove(self.instance_id):
            return False
        instances = self.listing.get(self.since)
        if instances is None:
            return False
        # Several, if a launcher has died while it created an instance.
        found = list(findInstances(instances, self.node, self.instance_id))
        for instance in found:
            self._remove(instance.id)
        return not found

    def _remove(self, thing_id: str, method: str | None = None) -> bool:
        """
        :param method: of the adapter, if it differs.
        :return: whether the cloud has accepted the request.
        """
        asked = self.asked.get(thing_id)
        if asked is not None and (
                time.monotonic() < asked + self.repeat_interval):
            return True
        task = self.endpoint.calls.perform(
            thing_id, method or self.method, thing_id)
        if task is None:
            return False
        task.result()
        self.asked[thing_id] = self.since = time.monotonic()
        return True


class SnapshotStateMachine(statemachine.StateMachine):
    """Creates an image from the instance of a node.

    :param provider: that has launched the node.
    :param node: the source of the image.
    """

    state: str
    complete: bool

    COPYING = 'the image is made'

    def __init__(self, provider: 'ProviderWithAdapter', node: ProviderNode,
                 log: Log) -> None:
        super().__init__(node.snapshot.snapshot_state)
        self.log = log
        self.endpoint = provider.getEndpoint()
        self.node = node

    def advance(self) -> str | None:
        """:return: the URL for the artifact, once the image exists."""
        self.state = self.COPYING
        node = self.node
        instance_id = node.create_state.get('instance_id')
        if instance_id is None:
            raise DriverError('A slot shares the instance of its machine, so '
                              'no image can be created from it')
        task = self.endpoint.calls.perform(
            node.uuid, 'createSnapshot', instance_id,
            ImageSpec(
                name=f'snapshot-{node.uuid}', upload_id=node.uuid,
                tags=node.snapshot.tags, format=None, image=None,
                timeout=node.snapshot_timeout),
            # Without a time-out, the call may take any time.
            limit=node.snapshot_timeout or math.inf)
        if task is None:
            return None
        result = task.result()
        self.state = self.COMPLETE
        self.complete = True
        return result


def findInstances(instances: Iterable[Found], node: ProviderNode,
                  instance_id: str | None = None) -> Iterator[Found]:
    """
    :param instances: all instances.
    :param instance_id: of a known instance of the node.
    :return: yields those of a node that are not deleted.
    """
    return (instance for instance in instances
            if instance.state is not State.DELETED
            and (instance.id == instance_id
                 or instance.tags.get(NODE_TAG) == node.uuid))
