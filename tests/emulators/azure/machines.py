"""Virtual machines, their sizes, and how many there can be.

https://learn.microsoft.com/rest/api/compute/virtual-machines
"""

import base64
import binascii
import re
import uuid

from tests.emulators.azure.core import (
    GROUP,
    SUBSCRIPTION,
    Collection,
    Refusal,
    Service,
    getGroup,
    route,
)

# name -> (processors, GB)
SIZES = {'Standard_D2s_v3': (2, 8), 'Standard_D4s_v3': (4, 16),
         'Standard_F2s_v2': (2, 4)}
FAMILIES = {'Standard_D2s_v3': 'standardDSv3Family',
            'Standard_D4s_v3': 'standardDSv3Family',
            'Standard_F2s_v2': 'standardFSv2Family'}
ZONES = ('1', '2', '3')
# What the limits are called.
USAGES = {'cores': 'Total Regional vCPUs',
          'lowPriorityCores': 'Total Regional Low-priority vCPUs',
          'virtualMachines': 'Virtual Machines',
          **{family: f'{family} vCPUs' for family in FAMILIES.values()}}
# And what they are called in errors.
QUOTAS = {'cores': 'Total Regional Cores',
          'lowPriorityCores': 'LowPriorityCores',
          'virtualMachines': 'Virtual Machines',
          **{family: f'{family} Cores' for family in FAMILIES.values()}}
# Bytes, of what a virtual machine is given.
MOST_DATA = 65535
PLATFORM = {'publisher', 'offer', 'sku', 'version'}
GALLERY = re.compile(r'/(Community|Shared)Galleries/[\w.-]+/Images/[\w.-]+'
                     r'(/Versions/([\d.]+|latest))?', re.I)
# What can't be changed of one that is there.
FIXED = ('osProfile', 'priority')


class VirtualMachines(Collection):
    """
    :ivar set full: zones without capacity; None for those without a zone.
    :ivar dict restricted: size -> why the subscription may not have it.
    :ivar dict given: id in lower case -> what it was made with, also what
        is never shown.
    """

    collection = 'Microsoft.Compute/virtualMachines'
    longest = 64

    def __init__(self, azure):
        super().__init__(azure)
        self.full = set()
        self.restricted = {}
        self.given = {}

    def make(self, resource_id, given, state='Succeeded'):
        resource = super().make(resource_id, given, state)
        self.given[resource['id'].lower()] = given['properties']
        if zones := given.get('zones'):
            resource['zones'] = zones
        return resource

    def checkChange(self, resource, given):
        former = self.given[resource['id'].lower()]
        for name in FIXED:
            if given['properties'].get(name) != former.get(name):
                raise Refusal(409, f"Changing property '{name}' is not "
                                   'allowed.', 'PropertyChangeNotAllowed')

    @route('GET', Collection.ITEM)
    def callGet(self, request, **place):
        vm = super().callGet(request, **place)
        if request.query.get('$expand') != ['instanceView']:
            return vm
        return {**vm, 'properties': {
            **vm['properties'], 'instanceView': self._makeView(vm)}}

    @route('GET', SUBSCRIPTION + '/providers/{collection}')
    @route('GET', GROUP + '/providers/{collection}')
    def callList(self, request, group=None, **place):
        if '$expand' in request.query and '$filter' not in request.query:
            raise Refusal(400, 'The expand option needs a filter.')
        page = super().callList(request, **place)
        # Lists of resource groups do not have that option.
        if group is None and request.query.get('statusOnly') == ['true']:
            page['value'] = [self._makeStatus(vm) for vm in page['value']]
        return page

    def _makeStatus(self, vm):
        """:return: what there is of a virtual machine in a list with the
            option statusOnly: no tags, no network."""
        # https://github.com/Azure/azure-sdk-for-go/issues/18565
        shown = {name: vm[name] for name in ('name', 'type', 'location')}
        group = getGroup(vm['id'])
        return shown | {
            # These ids are written otherwise.
            'id': vm['id'].replace(f'/{group}/', f'/{group.upper()}/'),
            'properties': {
                'vmId': vm['properties']['vmId'],
                'provisioningState': vm['properties']['provisioningState'],
                'instanceView': self._makeView(vm)}}

    def _makeView(self, vm):
        return {'statuses': self.azure.powers.getStatuses(vm)}

    def failExtension(self, name):
        """What is installed on the virtual machine of this name can't be;
        it runs all the same."""
        vm = self[name]
        self.azure.operations.errors[vm['id'].lower()] = {
            'code': 'VMExtensionProvisioningError',
            'message': 'VM has reported a failure when processing extension '
                       "'monitor'."}
        vm['properties']['provisioningState'] = 'Failed'

    def complete(self, resource):
        self.azure.powers.states.setdefault(
            resource['id'].lower(), 'running')
        return resource

    def fill(self, resource):
        resource['properties'] = properties = {
            name: dict(value) if isinstance(value, dict) else value
            for name, value in resource['properties'].items()}
        self._checkSize(resource)
        self._checkProfile(properties)
        self._checkImage(resource)
        self._checkQuota(resource)
        profile = properties['storageProfile']
        network = properties['networkProfile']
        network['networkInterfaces'] = [
            {'id': self.azure.nics.add(resource, config)['id'],
             'properties': {'primary': True, 'deleteOption': config[
                 'properties'].get('deleteOption', 'Detach')}}
            for config in network.pop('networkInterfaceConfigurations')]
        if 'diffDiskSettings' not in profile['osDisk']:
            disk = self.azure.disks.attach(resource, profile['osDisk'])
            profile['osDisk'] |= {
                'name': disk['name'], 'managedDisk': {'id': disk['id']}}
        properties['vmId'] = str(uuid.uuid4())
        # They are never shown.
        for name in ('adminPassword', 'customData'):
            properties['osProfile'].pop(name, None)
        properties.pop('userData', None)
        zone = next(iter(resource.get('zones', ())), None)
        if zone in self.full:
            self.azure.fail(
                'virtualMachines.create',
                'ZonalAllocationFailed' if zone else 'AllocationFailed')

    def _checkSize(self, resource):
        size = resource['properties']['hardwareProfile']['vmSize']
        if size not in SIZES:
            raise Refusal(
                400, f'The value {size} provided for the VM size is not '
                     'valid. The valid sizes in the current region are: '
                     f'{",".join(SIZES)}.', 'InvalidParameter')
        if wrong := set(resource.get('zones', ())) - set(ZONES):
            raise Refusal(
                400, f'The zone(s) {", ".join(wrong)} for resource '
                     f'{resource["id"]} is not supported. The supported '
                     f'zones are {",".join(ZONES)}.',
                'InvalidAvailabilityZone')
        if size in self.restricted:
            raise Refusal(
                409, f"The requested VM size for resource '{resource['id']}' "
                     'is currently not available in location '
                     f"'{resource['location']}'. Please try another size or "
                     'deploy to a different location or different zone.',
                'SkuNotAvailable')

    def _checkImage(self, resource):
        """What one is made of: an image, a platform's, or a gallery's."""
        reference = resource['properties']['storageProfile'][
            'imageReference']
        image_id = reference.get('id')
        if image_id and self.azure.images.get(image_id) is None:
            raise Refusal(404, f"The Image '{image_id}' cannot be found in "
                               f"'{resource['location']}' region.")
        gallery = reference.get('sharedGalleryImageId') or reference.get(
            'communityGalleryImageId')
        if not (image_id or (gallery and GALLERY.fullmatch(gallery))
                or set(reference) == PLATFORM):
            raise Refusal(400, 'Parameter imageReference is invalid.',
                          'InvalidParameter')

    def _checkProfile(self, properties):
        """What an image that was made of a disk needs."""
        if not properties['networkProfile'].get('networkApiVersion'):
            raise Refusal(400, "Required parameter 'networkApiVersion' is "
                               'missing (null).', 'InvalidParameter')
        profile = properties['osProfile']
        for what, text in (('customData', profile.get('customData')),
                           ('userData', properties.get('userData'))):
            _checkData(what, text)
        if len(profile.get('computerName') or '') > 64:
            raise Refusal(400, 'The computerName has more than 64 '
                               'characters.', 'InvalidParameter')
        for name in ('computerName', 'adminUsername'):
            if not profile.get(name):
                raise Refusal(400, f"Required parameter 'osProfile.{name}' "
                                   'is missing (null).', 'InvalidParameter')
        if not ('adminPassword' in profile or profile.get(
                'linuxConfiguration', {}).get('ssh', {}).get('publicKeys')):
            raise Refusal(400, 'Authentication using either SSH or by user '
                               'name and password must be enabled in Linux '
                               'profile.', 'InvalidParameter')

    def getUsage(self):
        """:return: dict, name of a limit -> what is used of it."""
        usage = dict.fromkeys(USAGES, 0)
        for vm in self.resources.values():
            for name, number in _getNeeds(vm).items():
                usage[name] += number
        return usage

    def _checkQuota(self, resource):
        usage = self.getUsage()
        for name, need in _getNeeds(resource).items():
            limit = self.azure.limits[name]
            if usage[name] + need > limit:
                raise Refusal(
                    409, 'Operation could not be completed as it results in '
                         f'exceeding approved {QUOTAS[name]} quota. '
                         'Additional details - Deployment Model: Resource '
                         f'Manager, Location: {resource["location"]}, '
                         f'Current Limit: {limit}, Current Usage: '
                         f'{usage[name]}, Additional Required: {need}, '
                         '(Minimum) New Limit Required: '
                         f'{usage[name] + need}.',
                    'OperationNotAllowed')

    def remove(self, resource_id):
        properties = self.get(resource_id)['properties']
        super().remove(resource_id)
        self.azure.powers.states.pop(resource_id.lower(), None)
        for nic in properties['networkProfile']['networkInterfaces']:
            self.azure.nics.leave(
                nic['id'], nic['properties']['deleteOption'] == 'Delete')
        disk = properties['storageProfile']['osDisk']
        if 'managedDisk' in disk:
            self.azure.disks.detach(disk['managedDisk']['id'],
                                    disk.get('deleteOption') == 'Delete')


def _checkData(what, text):
    if text is None:
        return
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Refusal(400, f'{what} must be in Base64 encoding.',
                      'InvalidParameter') from error
    if len(data) > MOST_DATA:
        raise Refusal(400, f'{what} is too long.', 'InvalidParameter')


def _getNeeds(vm):
    properties = vm['properties']
    size = properties['hardwareProfile']['vmSize']
    processors, _ = SIZES[size]
    if properties.get('priority') == 'Spot':
        return {'lowPriorityCores': processors, 'virtualMachines': 1}
    return {'cores': processors, FAMILIES[size]: processors,
            'virtualMachines': 1}


class Usages(Service):
    """What there can be in the region, and what there is."""

    @route('GET', SUBSCRIPTION
           + '/providers/Microsoft.Compute/locations/{location}/usages')
    def callList(self, request, **place):
        usage = self.azure.vms.getUsage()
        return self.page(request, {name: {
            'unit': 'Count', 'currentValue': usage[name],
            'limit': self.azure.limits[name],
            'name': {'value': name, 'localizedValue': words}}
            for name, words in USAGES.items()})


class Skus(Service):
    """What there is of sizes, and of disks."""

    @route('GET', SUBSCRIPTION + '/providers/Microsoft.Compute/skus')
    def callList(self, request, **place):
        locations = sorted({group['location'] for group
                            in self.azure.groups.resources.values()})
        skus = {name: {'vCPUs': str(processors), 'MemoryGB': str(memory)}
                for name, (processors, memory) in SIZES.items()}
        skus['Premium_LRS'] = {'MaxSizeGiB': '4'}
        if wanted := request.query.get('$filter'):
            locations = [each for each in locations
                         if wanted == [f"location eq '{each}'"]]
            if not locations:
                return self.page(request, {})
        return self.page(request, {name: {
            'name': name, 'locations': locations,
            'restrictions': [
                {'type': 'Location', 'values': locations,
                 'reasonCode': self.azure.vms.restricted[name]}
            ] if name in self.azure.vms.restricted else [],
            'locationInfo': [{'location': each, 'zones': list(ZONES)}
                             for each in locations],
            **({'family': FAMILIES[name]} if name in FAMILIES else {}),
            'resourceType': ('virtualMachines' if name in SIZES
                             else 'disks'),
            'capabilities': [{'name': key, 'value': value}
                             for key, value in capabilities.items()]}
            for name, capabilities in skus.items()})
