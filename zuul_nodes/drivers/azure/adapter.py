"""The adapter for virtual machines, their interfaces, addresses and disks.

https://learn.microsoft.com/rest/api/compute/virtual-machines
https://learn.microsoft.com/rest/api/virtualnetwork/
"""

import collections
import contextlib
import threading

from zuul.driver.azure.azuremodel import AzureResource

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    Check,
    DriverError,
    Found,
    Instance,
    PermanentError,
    State,
    getUser,
)
from zuul_nodes.drivers.azure import failures, powerstates
from zuul_nodes.drivers.azure.machinerequest import makeRequest
from zuul_nodes.drivers.azure.powerstates import (
    VirtualMachine,
    getID,
    getState,
)
from zuul_nodes.drivers.azure.references import References
from zuul_nodes.drivers.azure.sizes import Sizes

STATES = {'succeeded': State.READY, 'failed': State.FAILED,
          'canceled': State.FAILED, 'deleting': State.FAILED}
NODE_TAG = 'zuul_node_uuid'
# An instance view's status: "ProvisioningState/failed/AllocationFailed".
FAILED = 'provisioningstate/failed/'
# Maximum number of virtual machines whose failure is remembered.
REASONS = 1000
Type = AzureResource.ResourceType


class AzureAdapter(Adapter):
    """Calls Azure for a region of a subscription.

    :param AzureEndpoint endpoint: that has a client.
    :ivar References references: resolves images, subnets and identities.
    :ivar Sizes sizes: of virtual machines.
    """

    abilities = frozenset({
        Ability.ZONES, Ability.LIMITS, Ability.NEEDS})
    list_interval = 2.0

    def __init__(self, endpoint):
        # Unlike other adapters, this one uses the endpoint's client.
        self.endpoint = endpoint
        self.region = endpoint.region
        self.references = References(lambda: self.client)
        self.sizes = Sizes(lambda: self.client, self.region)
        # (id, vmId) of a virtual machine -> error.
        self._reasons = collections.OrderedDict()
        self._lock = threading.Lock()

    @property
    def client(self):
        return self.endpoint.client

    @property
    def timeout(self):
        return self.endpoint.connection.api_timeout

    # Virtual machines

    def createInstance(self, spec):
        # Raises an error for unknown sizes, for which Azure reports a
        # temporary lack of capacity.
        self.sizes.getSize(spec.flavor.vm_size)
        group = spec.provider.resource_group
        references = self.references
        request = makeRequest(
            spec, self.region, references.getImage(spec),
            references.getSubnet(spec.label, group),
            references.getIdentities(spec.label, group),
            self.client.network_interfaces.args['apiVersion'])
        machines = self.client.resource_group_virtual_machines
        try:
            vm = machines.create(group, spec.name, request)
        except failures.ExistsError:
            # An earlier call may have created it; it cannot be changed.
            vm = machines.get(group, spec.name)
            if (vm.get('tags') or {}).get(NODE_TAG) != spec.tags[NODE_TAG]:
                raise
        return Instance(getID(vm), State.BUILDING, spec.tags)

    def listInstances(self):
        return [self._makeInstance(vm)
                for vm in self.client.virtual_machines.list()
                if self.isHere(vm)]

    def listPowerStates(self):
        """:return: yields (id, power state) of all virtual machines; the state
            is None if Azure does not know it."""
        return powerstates.listPowerStates(self.client)

    def isHere(self, resource):
        """:return: whether a resource is in the region; the lists of a
            subscription contain all regions."""
        return _normalize(resource.get('location')) == _normalize(
            self.region)

    def _makeInstance(self, vm):
        state = STATES.get(getState(vm), State.BUILDING)
        tags = vm.get('tags') or {}
        error = (self._getReason(vm) if state is State.FAILED
                 and tags.get(NODE_TAG) else None)
        return VirtualMachine(
            getID(vm), state, tags, vm=vm, cloud='Azure',
            region=vm['location'], az=next(iter(vm.get('zones') or ()), ''),
            needs=self.sizes.getNeedsOf(vm),
            message=error and str(error), error=error and type(error))

    def _getReason(self, vm):
        """:return: the error of a virtual machine of ours that has failed."""
        if (state := getState(vm)) != 'failed':
            return DriverError(f'its state is {state}')
        key = getID(vm), vm['properties'].get('vmId')
        with self._lock:
            if key in self._reasons:
                return self._reasons[key]
        try:
            error = self._askReason(vm)
        except failures.NotFoundError as gone:
            return gone
        with self._lock:
            self._reasons[key] = error
            while len(self._reasons) > REASONS:
                self._reasons.popitem(last=False)
        return error

    def _askReason(self, vm):
        view = self.client.get(
            self.client.virtual_machines.id_url(getID(vm))
            + '&$expand=instanceView')
        statuses = view['properties'].get('instanceView', {}).get(
            'statuses') or ()
        for status in statuses:
            code = status.get('code', '')
            if code.lower().startswith(FAILED):
                return failures.makeError(
                    code[len(FAILED):], status.get('message') or '')
        return DriverError('Azure reports no reason')

    def deleteInstance(self, instance_id):
        self._delete(self.client.virtual_machines, instance_id)

    # Interfaces and addresses

    def listInterfaces(self):
        """:return: the interfaces in the region, as Azure returns them."""
        return self._list(self.client.network_interfaces)

    def listAddresses(self):
        """:return: the public addresses in the region, as Azure returns them.
        """
        return self._list(self.client.public_ip_addresses)

    # Quota

    def getLimits(self):
        return self.sizes.getLimits()

    def getNeeds(self, spec):
        return self.sizes.getNeeds(
            spec.flavor.vm_size, spec.flavor.priority)

    def listZones(self):
        return self.sizes.getZones()

    # Resources that can leak

    def listResources(self):
        """:return: yields an AzureResource for each resource in the region
            that no other resource uses."""
        for vm in self._list(self.client.virtual_machines):
            yield _makeResource(vm, Type.INSTANCE)
        for crud, kind, user in self._getParts():
            for each in self._list(crud):
                if not (each.get(user) or each['properties'].get(user)):
                    yield _makeResource(each, kind)

    def _getParts(self):
        client = self.client
        return ((client.network_interfaces, Type.NIC, 'virtualMachine'),
                (client.public_ip_addresses, Type.PIP, 'ipConfiguration'),
                (client.disks, Type.DISK, 'managedBy'),
                (client.images, Type.IMAGE, None))

    def deleteResource(self, resource):
        if resource.type == Type.DISK:
            # The disk may be left from a failed upload.
            self.client.endAccess(resource.id)
        cruds = {kind: crud for crud, kind, _ in self._getParts()}
        self._delete(cruds.get(
            resource.type, self.client.virtual_machines), resource.id)

    def deleteImage(self, image_id):
        """Delete an image; do nothing if it does not exist."""
        self._delete(self.client.images, image_id)

    # Checks

    def getChecks(self, spec):
        # Ids of subnets are made by the client.
        self.endpoint.startForChecks()
        label, image = spec.label, spec.image
        yield Check('flavor', spec.flavor.vm_size, f'label {label.name}',
                    lambda: self._askSize(spec), question=label.az)
        subnet_id = self.references.getSubnet(
            label, spec.provider.resource_group)
        yield Check('subnet', subnet_id, f'label {label.name}',
                    lambda: self._ask(self.client.subnets, subnet_id))
        if image.type == 'cloud' and (image.image_id or image.image_filter):
            yield Check('image', image.image_id or str(image.image_filter),
                        getUser(label, 'image'), lambda: self._askImage(spec),
                        question=spec.provider.resource_group)

    def _askSize(self, spec):
        try:
            zones = self.sizes.getZones(spec.flavor.vm_size)
        except PermanentError as error:
            return str(error)
        zone = spec.label.az
        return '' if not zone or zone in zones else (
            f'The size is not available in zone {zone}; its zones are '
            f'{", ".join(zones) or "none"}')

    def _askImage(self, spec):
        try:
            image_id = self.references.getImage(spec)['id']
        except (PermanentError, failures.NotFoundError) as error:
            return str(error)
        return self._ask(self.client.images, image_id) or Found(image_id)

    def _ask(self, crud, resource_id):
        try:
            crud.get_by_id(resource_id)
        except failures.NotFoundError as error:
            return str(error)
        return ''

    # Calls

    def _list(self, crud):
        return [each for each in crud.list() if self.isHere(each)]

    def _delete(self, crud, resource_id):
        with contextlib.suppress(failures.NotFoundError):
            crud.delete_by_id(resource_id)


def _normalize(location):
    return (location or '').replace(' ', '').lower()


def _makeResource(resource, kind):
    return AzureResource(resource.get('tags') or {}, kind, resource['id'])
