"""State machines that create and delete the nodes of AWS."""

import time

from zuul import exceptions
from zuul.driver.aws import awsendpoint
from zuul.provider import statemachine

from zuul_nodes.drivers import CapacityError, DriverError, extension
from zuul_nodes.drivers.aws import errors, names
from zuul_nodes.drivers.aws.places import SPOT, getPlaces


class CreateStateMachine(awsendpoint.AwsCreateStateMachine):
    """Zuul's state machine, which tries other places without capacity.

    Requests for an instance or a host have a token for each place (see
    :mod:`tokens`), so a repeated request does not create another one.
    """

    def __init__(self, provider, endpoint, node, hostname, label, flavor,
                 image, image_external_id, tags, log):
        host_id = node.aws_dedicated_host_id
        super().__init__(
            provider, endpoint, node, hostname, label, flavor, image,
            image_external_id, names.fitTags(tags), log)
        if host_id:
            # Zuul's constructor resets it if there is an instance already.
            node.aws_dedicated_host_id = host_id
            self.host = endpoint.refresh(
                {'HostId': host_id, 'State': 'pending'})
        self.wanted = label, flavor
        # Places without capacity, and whether capacity is the reason.
        self.full = list(node.create_state.get('full', ()))
        self.lacks_room = node.create_state.get('lacks_room', False)
        self.places = None
        # A launcher may have died between its request and the answer.
        self.is_sure = self.state == self.START
        self.since = time.monotonic()

    def toDict(self):
        return super().toDict() | {
            'full': self.full, 'lacks_room': self.lacks_room}

    def advance(self):
        self._enterPlace()
        if self.state == self.START:
            self._start()
        if not self.is_sure and not self._becomeSure():
            return
        was_asked = self.node.aws_instance_id is not None
        try:
            super().advance()
        except exceptions.LaunchStatusException as error:
            self._tryNextPlace(self._explain() or error)
        except DriverError as error:
            if errors.getCode(error) == errors.TOKEN_USED and (
                    self._adopt()):
                return
            self._tryNextPlace(error)
        if not was_asked:
            self.since = time.monotonic()
        elif self.state == self.INSTANCE_CREATING:
            self._expectInstance()

    def _start(self):
        # Zuul's state machine finds the template by the name of the provider,
        # which tenants share.  The record keeps the template, as the label may
        # change later.
        self.node.aws_launch_template_name = (
            self.endpoint.fleets.findTemplate(self.provider, *self.wanted))
        self.node.node_properties.update(
            fleet=bool(self.flavor.fleet),
            spot=self.flavor.market_type == SPOT)
        self.state = self._getFirstState()

    def _getFirstState(self):
        return (self.HOST_ALLOCATING_START if self.flavor.dedicated_host
                else self.INSTANCE_CREATING_START)

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

    def _tryNextPlace(self, error):
        """Continue in another place, if one may be better.

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
        # An existing host would have to be released first.
        if not others or self.node.aws_dedicated_host_id:
            if self.lacks_room and not isinstance(error, CapacityError):
                raise CapacityError(str(error)) from error
            raise error
        self.log.info('Trying node %s in %s instead of %s: %s',
                      self.node.uuid, others[0], place, error)
        self.full += map(str, passed)
        self.node.aws_instance_id = self.instance = None
        self.create_future = self.host_create_future = None
        self.state = self._getFirstState()

    def _becomeSure(self):
        """Find existing resources of the node, and continue with them.

        :return: whether AWS has returned a list.
        :raises DriverError: AWS has not done so for a while.
        """
        try:
            self._adopt()
        except Exception as error:
            if time.monotonic() > (
                    self.since + self.endpoint.listing.failure_timeout):
                raise
            self.log.warning('Unable to find existing resources of node %s: '
                             '%s', self.node.uuid, error)
            return False
        self.is_sure = True
        return True

    def _adopt(self):
        """Continue with existing resources of the node.

        :return: whether there are any.
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
        """:return: why the instance has terminated, None if it is unknown."""
        reason = (self.instance or {}).get('StateReason')
        if self.state != self.INSTANCE_CREATING or not reason:
            return None
        return errors.makeError(
            reason.get('Code', ''),
            f'Instance {self.node.aws_instance_id} has terminated: '
            f'{reason.get("Message", "")}')

    def _expectInstance(self):
        """:raises DriverError: the list does not contain the instance."""
        listing = self.endpoint.listing
        instances = listing.get(self.since + listing.appearance_timeout)
        if instances is not None and not any(
                instance.id == self.node.aws_instance_id
                for instance in instances):
            raise DriverError(
                f'Instance {self.node.aws_instance_id} has vanished')


class DeleteStateMachine(statemachine.StateMachine):
    """Deletes all resources of a node: its instances and its host.

    Requests for a deletion are not recorded, so the next launcher repeats
    them.

    :param AwsEndpoint endpoint: of the node.
    :param ProviderNode node: the node to delete.
    """

    # The states in the records of Zuul's driver.
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
        # Avoid a request for hosts, which most nodes do not have.
        self.may_have_host = bool(
            node.aws_dedicated_host_id
            or node.create_state.get('state') in (
                CreateStateMachine.HOST_ALLOCATING_START,
                CreateStateMachine.HOST_ALLOCATING))

    def advance(self):
        if self.state == self.START:
            # A running request could create a resource afterwards.
            if self.endpoint.isCreating(self.node.uuid):
                return
            for removal in self.removals.values():
                removal.begin()
            self.state = self.INSTANCE_DELETING
        if self.state == self.INSTANCE_DELETING and self._isDeleted():
            self.state = (self.HOST_RELEASING if self.may_have_host
                          else self.COMPLETE)
        if self.state == self.HOST_RELEASING and self._isDeleted():
            self.state = self.COMPLETE
        if self.state == self.COMPLETE:
            self.complete = True

    def _isDeleted(self):
        return self.removals[self.state].isComplete()
