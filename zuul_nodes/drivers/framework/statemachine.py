"""The lives of nodes at any adapter.

A machine does one thing at a time and says in its state what it has done.
That is in the node's record between two steps, at the latest, so any
launcher goes on from there; what was done since then is found in the cloud
by the node's tags.
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
# What adapters do.
CREATE = 'createInstance'
# Seconds until an instance that the cloud has accepted has to be in a list.
APPEARANCE = 120
# Seconds after which a cloud is asked again to delete what is there still.
REPEAT = 60


class Listed(Protocol):
    """An instance, or what else a node has, as the cloud lists it."""

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
    """
    :param provider: that makes the node.
    :param node: that is to be made.
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
        # By this name, launchers see what images are in use.
        self.image_external_id = node.create_state.get(
            'image_external_id', image_external_id)
        self.instance_id: str | None = node.create_state.get('instance_id')
        # Zones that have no room.
        self.full: list[str | None] = list(node.create_state.get('full', ()))
        # Whether it is known what there is of the node.
        self.is_sure = Ability.UNIQUE_NAMES in self.endpoint.abilities
        # Of an instance in a zone that has no room.
        self.removal: Removal | None = None
        # What is listed from now on has what others have made for us.
        self.since = time.monotonic()

    def toDict(self) -> dict[str, Any]:
        return super().toDict() | {
            'image_external_id': self.image_external_id,
            'instance_id': self.instance_id, 'full': self.full}

    def advance(self) -> Instance | None:
        """
        :return: the instance, when it is ready.
        :raises Exception: it will not be.
        """
        if self.state == self.START and self._mayAsk():
            self.state = self.ASKED
        if self.state == self.MOVING and self._leaveZone():
            self.state = self.ASKED
        # Whoever has asked for it may not have lived to see the answer.
        if self.state == self.ASKED and self._mayAsk() and self._ask():
            self.state = self.BOOTING
        # What was complete may have been so in a launcher that has died.
        if self.complete or self.state not in (self.BOOTING, self.COMPLETE):
            return None
        instance = self._look()
        if instance is None:
            return None
        quota = self.node.quota
        self.node.updateFromInstance(instance)
        if not instance.needs and quota.getResources():
            # The cloud does not say: it takes what was reckoned with.
            self.node.quota = quota
        self.state = self.COMPLETE
        self.complete = True
        # For who deletes it; the machine is not asked any more then.
        self.node.create_state = self.toDict()
        return instance

    def judge(self, error: DriverError) -> DriverError:
        """
        :param error: that the last zone refuses the instance
            with.
        :return: what is raised: by default, the same.
        """
        return error

    def _mayAsk(self) -> bool:
        """:return: whether it is known what there is of the node."""
        if self.is_sure:
            return True
        if not self.endpoint.calls.isIdle(self.node.uuid, CREATE):
            # What comes of that has to be in the list.
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

    def _ask(self) -> bool:
        """:return: whether the cloud has accepted it."""
        if self.instance_id:
            return True
        zone, *others = self._getZones()
        try:
            task = self.endpoint.calls.perform(
                self.node.uuid, CREATE, self._getSpec(zone))
            if task is None:
                return False
            self.instance_id = task.getResult().id
        except CapacityError as error:
            if not others:
                raise self.judge(error) from error
            self.full.append(zone)
            self.log.info('Zone %s has no room for node %s: %s',
                          zone, self.node.uuid, error)
            return False
        self.since = time.monotonic()
        return True

    def _leaveZone(self) -> bool:
        """:return: whether nothing is left of the instance in a zone that
            has no room."""
        if self.removal is None:
            self.removal = Removal(self.endpoint, self.node, self.instance_id)
        if not self.removal.isComplete():
            return False
        self.removal = self.instance_id = None
        self.full.append(self._getZones()[0])
        return True

    def _getZones(self) -> list[str | None]:
        """:return: a list of those that have not turned out to be full, the
            one that is used first."""
        zones = self.provider.getZones(self.node)
        return [zone for zone in zones if zone not in self.full] or zones[:1]

    def _getSpec(self, zone: str | None) -> InstanceSpec:
        return self.provider.makeSpec(
            self.provider.labels[self.node.label],
            name=f'np{self.node.uuid}', tags=self.node.tags,
            image_id=self.image_external_id, zone=zone)

    def _look(self) -> Instance | None:
        """:return: the instance if it is ready."""
        instances = self.endpoint.listing.get(self.since)
        if instances is None:
            return None
        for instance in instances:
            if instance.id == self.instance_id:
                break
        else:
            if time.monotonic() > self.since + APPEARANCE:
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
            self.log.info('Node %s goes to another zone: %s',
                          self.node.uuid, error)
            self.state = self.MOVING
            return None
        return instance if instance.state is State.READY else None


class DeleteStateMachine(statemachine.StateMachine):
    """
    :param provider: that has made the node.
    :param node: that is to go.
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
            # What is asked for now might be made behind our back.
            if not self.endpoint.calls.isIdle(self.node.uuid, CREATE):
                return
            self.endpoint.calls.forget(self.node.uuid)
            self.removal.begin()
            self.state = self.REMOVING
        if self.state == self.REMOVING and self.removal.isComplete():
            self.state = self.COMPLETE
        if self.state == self.COMPLETE:
            self.complete = True


class Removal:
    """Whatever instances a node has are removed, or what else there may be
    of one kind.

    :param endpoint: where they are.
    :param instance_id: of one that is known to be the node's, or None.
    :param listing: of all of the kind; by default, of instances.
    :param method: of the adapter, which removes one.
    """

    def __init__(self, endpoint: 'EndpointWithAdapter', node: ProviderNode,
                 instance_id: str | None, listing: Listing[Any] | None = None,
                 method: str = 'deleteInstance') -> None:
        self.endpoint = endpoint
        self.node = node
        self.instance_id = instance_id
        self.listing = listing or endpoint.listing
        self.method = method
        # What the cloud was asked to remove, and when.
        self.asked: dict[str, float] = {}
        self.begin()

    def begin(self) -> None:
        """What is listed from now on is all there is."""
        self.since = time.monotonic()

    def isComplete(self) -> bool:
        """To be called until it is so.

        :return: whether there is none any more.
        """
        if self.instance_id and not self._remove(self.instance_id):
            return False
        instances = self.listing.get(self.since)
        if instances is None:
            return False
        # There is more than one if somebody has died while asking for it.
        found = list(findInstances(instances, self.node, self.instance_id))
        for instance in found:
            self._remove(instance.id)
        return not found

    def _remove(self, thing_id: str, method: str | None = None) -> bool:
        """
        :param method: of the adapter, if it is another one.
        :return: whether the cloud has been asked for it.
        """
        now = time.monotonic()
        if self.asked.get(thing_id, -REPEAT) > now - REPEAT:
            return True
        task = self.endpoint.calls.perform(
            thing_id, method or self.method, thing_id)
        if task is None:
            return False
        task.getResult()
        self.asked[thing_id] = self.since = time.monotonic()
        return True


class SnapshotStateMachine(statemachine.StateMachine):
    """
    :param provider: that has made the node.
    :param node: of which an image is to be made.
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
        """:return: what the artifact has for its URL, when it is there."""
        self.state = self.COPYING
        node = self.node
        instance_id = node.create_state.get('instance_id')
        if instance_id is None:
            raise DriverError('A slot has no instance of its own, of which '
                              'an image could be made')
        task = self.endpoint.calls.perform(
            node.uuid, 'createSnapshot', instance_id,
            ImageSpec(
                name=f'snapshot-{node.uuid}', upload_id=node.uuid,
                tags=node.snapshot.tags, format=None, image=None,
                timeout=node.snapshot_timeout),
            # Without one, there is no hurry.
            limit=node.snapshot_timeout or math.inf)
        if task is None:
            return None
        result = task.getResult()
        self.state = self.COMPLETE
        self.complete = True
        return result


def findInstances(instances: Iterable[Found], node: ProviderNode,
                  instance_id: str | None = None) -> Iterator[Found]:
    """
    :param instances: that there are.
    :param instance_id: of one that is known to be the node's.
    :return: yields those that were made for a node and are not gone.
    """
    return (instance for instance in instances
            if instance.state is not State.DELETED
            and (instance.id == instance_id
                 or instance.tags.get(NODE_TAG) == node.uuid))
