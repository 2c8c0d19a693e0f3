"""The lives of nodes at AWS."""

import time

from zuul import exceptions
from zuul.driver.aws import awsendpoint
from zuul.provider import statemachine

from zuul_nodes.drivers import CapacityError, DriverError, extension
from zuul_nodes.drivers.aws import errors, names
from zuul_nodes.drivers.aws.places import SPOT, getPlaces


class CreateStateMachine(awsendpoint.AwsCreateStateMachine):
    """Zuul's, which goes to another place if there is no room.

    Each place has a token of its own with which AWS is asked for an
    instance or a host (see :mod:`tokens`), so asking again makes none.
    """

    def __init__(self, provider, endpoint, node, hostname, label, flavor,
                 image, image_external_id, tags, log):
        host_id = node.aws_dedicated_host_id
        super().__init__(
            provider, endpoint, node, hostname, label, flavor, image,
            image_external_id, names.fitTags(tags), log)
        if host_id:
            # Zuul's forgets it if there is an instance already.
            node.aws_dedicated_host_id = host_id
            self.host = endpoint.refresh(
                {'HostId': host_id, 'State': 'pending'})
        self.wanted = label, flavor
        # Places that have no room, and whether that is why.
        self.full = list(node.create_state.get('full', ()))
        self.lacks_room = node.create_state.get('lacks_room', False)
        self.places = None
        # Whoever began may not have lived to see the answer.
        self.is_sure = self.state == self.START
        self.since = time.monotonic()

    def toDict(self):
        return super().toDict() | {
            'full': self.full, 'lacks_room': self.lacks_room}

    def advance(self):
        self._enterPlace()
        if not self.is_sure and not self._becomeSure():
            return
        was_asked = self.node.aws_instance_id is not None
        try:
            super().advance()
        except exceptions.LaunchStatusException as error:
            self._goOn(self._explain() or error)
        except DriverError as error:
            if errors.getCode(error) == errors.TOKEN_USED and (
                    self._adopt()):
                return
            self._goOn(error)
        if not was_asked:
            self.since = time.monotonic()
        elif self.state == self.INSTANCE_CREATING:
            self._expectInstance()

    def _enterPlace(self):
        if self.places is None:
            self.places = getPlaces(
                *self.wanted, self.node, self.endpoint.getSubnetZones)
        self.label, self.flavor = self._getLeft()[0].apply(*self.wanted)
        if self.flavor.market_type != self.wanted[1].market_type:
            self.node.node_properties['spot'] = False

    def _getLeft(self):
        return [place for place in self.places
                if str(place) not in self.full] or self.places[-1:]

    def _goOn(self, error):
        """Try another place, if there is one that may be better.

        :raises Exception: there is none.
        """
        place, *others = self._getLeft()
        passed = [place]
        self.lacks_room = self.lacks_room or isinstance(error, CapacityError)
        if errors.isOfSpot(error):
            passed += [other for other in others if other.market == SPOT]
        elif not errors.isElsewhereBetter(error):
            raise error
        others = [other for other in others if other not in passed]
        # A host that there is would have to go first.
        if not others or self.node.aws_dedicated_host_id:
            if self.lacks_room and not isinstance(error, CapacityError):
                raise CapacityError(str(error)) from error
            raise error
        self.log.info('Node %s goes from %s to %s: %s',
                      self.node.uuid, place, others[0], error)
        self.full += map(str, passed)
        self.node.aws_instance_id = self.instance = None
        self.create_future = self.host_create_future = None
        self.state = (self.HOST_ALLOCATING_START if self.flavor.dedicated_host
                      else self.INSTANCE_CREATING_START)

    def _becomeSure(self):
        """Go on with what there is of the node already, as soon as AWS says
        what there is.

        :return: whether it does.
        :raises DriverError: it has not done so for a while.
        """
        try:
            self._adopt()
        except Exception as error:
            if time.monotonic() > self.since + extension.BLIND:
                raise
            self.log.warning('Unable to look for what there is of node %s: '
                             '%s', self.node.uuid, error)
            return False
        self.is_sure = True
        return True

    def _adopt(self):
        """Go on with what there is of the node already.

        :return: whether there is anything.
        """
        found = False
        if self.state == self.HOST_ALLOCATING_START:
            for host in self.endpoint.findHosts(self.node.uuid):
                self.host, found = host, True
                self.node.aws_dedicated_host_id = host['HostId']
                self.state = self.HOST_ALLOCATING
        if self.state == self.INSTANCE_CREATING_START:
            for instance in self.endpoint.findInstances(self.node.uuid):
                self.instance, found = instance, True
                self.node.aws_instance_id = instance['InstanceId']
                self.node.node_properties['instance_id'] = (
                    instance['InstanceId'])
                self.state = self.INSTANCE_CREATING
        return found

    def _explain(self):
        """:return: why the instance has ended, None if AWS does not say."""
        reason = (self.instance or {}).get('StateReason')
        if self.state != self.INSTANCE_CREATING or not reason:
            return None
        return errors.makeError(
            reason.get('Code', ''),
            f'Instance {self.node.aws_instance_id} has ended: '
            f'{reason.get("Message", "")}')

    def _expectInstance(self):
        """:raises DriverError: the instance is not in the list."""
        instances = self.endpoint.listing.get(
            self.since + extension.APPEARANCE)
        if instances is not None and not any(
                instance.id == self.node.aws_instance_id
                for instance in instances):
            raise DriverError(
                f'Instance {self.node.aws_instance_id} has vanished')


class DeleteStateMachine(statemachine.StateMachine):
    """All that there is of a node is removed, its instances and its host.

    Which of it AWS has been asked to remove is known only to whoever has
    asked.  So whoever takes over asks again.

    :param AwsEndpoint endpoint: where it is.
    :param ProviderNode node: that is to go.
    """

    # As Zuul's driver has them in its records.
    INSTANCE_DELETING = awsendpoint.AwsDeleteStateMachine.INSTANCE_DELETING
    HOST_RELEASING = awsendpoint.AwsDeleteStateMachine.HOST_RELEASING

    def __init__(self, endpoint, node, log):
        super().__init__(node.delete_state)
        self.endpoint = endpoint
        self.node = node
        if self.state != self.COMPLETE:
            self.state = self.START
        self.removals = {
            self.INSTANCE_DELETING: extension.Removal(
                endpoint, node, node.aws_instance_id),
            self.HOST_RELEASING: extension.Removal(
                endpoint, node, node.aws_dedicated_host_id, endpoint.hosts,
                'deleteHost')}
        # Most nodes never had one, and AWS need not be asked for hosts.
        self.may_have_host = bool(
            node.aws_dedicated_host_id
            or node.create_state.get('state') in (
                CreateStateMachine.HOST_ALLOCATING_START,
                CreateStateMachine.HOST_ALLOCATING))

    def advance(self):
        if self.state == self.START:
            # What is asked for now might be made behind our back.
            if self.endpoint.isCreating(self.node.uuid):
                return
            for removal in self.removals.values():
                removal.begin()
            self.state = self.INSTANCE_DELETING
        if self.state == self.INSTANCE_DELETING and self._isGone():
            self.state = (self.HOST_RELEASING if self.may_have_host
                          else self.COMPLETE)
        if self.state == self.HOST_RELEASING and self._isGone():
            self.state = self.COMPLETE
        if self.state == self.COMPLETE:
            self.complete = True

    def _isGone(self):
        return self.removals[self.state].isComplete()
