"""Servers, version 2.1 with microversions: flavors, key pairs, quota."""

import base64
import binascii
import datetime
import hashlib
import re

from tests.emulators.emulation import Answer, Refusal
from tests.emulators.openstack.core import Service, hasLong, newID, now, route

MICROVERSION = 'x-openstack-nova-api-version'
NEWEST = '2.96'
# Name of an error, as Nova's answers have it.
ERRORS = {400: 'badRequest', 401: 'unauthorized', 403: 'forbidden',
          404: 'itemNotFound', 409: 'conflictingRequest', 413: 'overLimit',
          429: 'overLimit', 500: 'computeFault'}
METADATA_ITEMS = 128
METADATA_KEY = re.compile(r'[a-zA-Z0-9\-_:. ]{1,255}')
# Characters of base64.
MOST_USERDATA = 65535
NO_VALID_HOST = ('No valid host was found. There are not enough hosts '
                 'available.')
# name -> (MB, processors, GB)
FLAVORS = {'m1.tiny': (512, 1, 1), 'm1.small': (2048, 1, 20),
           'm1.medium': (4096, 2, 40)}


class Nova(Service):
    """
    :ivar dict servers: id -> server, but for ``addresses``.
    :ivar dict flavors: id -> flavor.
    :ivar dict keypairs: name -> key pair.
    :ivar dict groups: id -> server group.
    :ivar list zones: names of availability zones; a server that names none
        is in the first one.
    :ivar set full: zones in which no server has room.
    :ivar set closed: zones whose hosts are all down.
    :ivar str newest: version of the API.
    :ivar dict consoles: id of a server -> its console's log; None if it
        has none.
    :ivar dict limits: what a project may have, -1 for no limit.
    :ivar int build_polls: how often a new server is looked at before it is
        built, or None: until :meth:`finish`.
    :ivar int delete_polls: how often a server that is being deleted is
        looked at, or None: until :meth:`finish`.
    :ivar list faults: a message for each of the next servers, which go to
        ERROR with it.
    :ivar on_active: is called with each server that becomes active.
    :ivar int limit: how many servers a page has.
    :ivar list deleted: servers that are no more, as they are shown in a
        list of changes.
    """

    type = 'compute'
    path = '/compute'
    version = '/v2.1'

    def __init__(self, cloud):
        super().__init__(cloud)
        self.servers = {}
        self.flavors = {}
        self.keypairs = {}
        self.groups = {}
        self.zones = ['nova']
        self.full = set()
        self.closed = set()
        self.newest = NEWEST
        self.consoles = {}
        self.limits = {'instances': -1, 'cores': -1, 'ram': -1}
        self.build_polls = 1
        self.delete_polls = 1
        self.faults = []
        self.on_active = lambda server: None
        self.limit = 1000
        self.deleted = []
        self._polls = {}
        self._failing = {}
        self._ports = {}
        for name, values in FLAVORS.items():
            self.addFlavor(name, *values)

    def addFlavor(self, name, ram, vcpus, disk):
        flavor_id = newID()
        self.flavors[flavor_id] = {
            'id': flavor_id, 'name': name, 'ram': ram, 'vcpus': vcpus,
            'disk': disk, 'swap': '', 'rxtx_factor': 1.0,
            'OS-FLV-EXT-DATA:ephemeral': 0, 'OS-FLV-DISABLED:disabled': False,
            'os-flavor-access:is_public': True, 'description': None,
            'extra_specs': {}, 'links': []}
        return self.flavors[flavor_id]

    def addGroup(self, name, policy='anti-affinity'):
        group_id = newID()
        self.groups[group_id] = {
            'id': group_id, 'name': name, 'policies': [policy],
            'members': [], 'metadata': {}}
        return self.groups[group_id]

    def answer(self, request):
        if _getMicroversion(request) > _parse(self.newest):
            raise Refusal(406, f'Version is not supported by the API. '
                               f'Minimum is 2.1 and maximum is '
                               f'{self.newest}.')
        return super().answer(request)

    def formatError(self, refusal):
        return {ERRORS.get(refusal.status, 'computeFault'): {
            'code': refusal.status, 'message': refusal.message}}

    @route('GET', '', public=True)
    def getVersions(self, request):
        return {'versions': [self._getVersion()]}

    @route('GET', '/v2.1', public=True)
    def getVersion(self, request):
        return {'version': self._getVersion()}

    def _getVersion(self):
        return {'id': 'v2.1', 'status': 'CURRENT', 'version': self.newest,
                'min_version': '2.1', 'updated': '2013-07-23T11:33:21Z',
                'media-types': [],
                'links': [{'rel': 'self', 'href': f'{self.url}/'}]}

    # Flavors and what a project may have

    @route('GET', '/v2.1/flavors')
    @route('GET', '/v2.1/flavors/detail')
    def listFlavors(self, request):
        flavors = sorted(self.flavors.values(), key=lambda each: each['id'])
        return self.page(request, flavors, 'flavors')

    @route('GET', '/v2.1/flavors/{flavor_id}')
    def getFlavor(self, request, flavor_id):
        if flavor_id not in self.flavors:
            raise Refusal(404, f'Flavor {flavor_id} could not be found.')
        return {'flavor': self.flavors[flavor_id]}

    @route('GET', '/v2.1/flavors/{flavor_id}/os-extra_specs')
    def getExtraSpecs(self, request, flavor_id):
        return {'extra_specs': self.flavors[flavor_id]['extra_specs']}

    @route('GET', '/v2.1/limits')
    def getLimits(self, request):
        used = self._getUsed(request.project_id)
        return {'limits': {'rate': [], 'absolute': {
            'maxTotalInstances': self.limits['instances'],
            'maxTotalCores': self.limits['cores'],
            'maxTotalRAMSize': self.limits['ram'],
            'maxTotalKeypairs': 100, 'maxServerMeta': METADATA_ITEMS,
            'totalInstancesUsed': used['instances'],
            'totalCoresUsed': used['cores'],
            'totalRAMUsed': used['ram']}}}

    def _getUsed(self, project_id):
        flavors = [self.flavors[server['flavor']['id']]
                   for server in self.servers.values()
                   if server['tenant_id'] == project_id]
        return {'instances': len(flavors),
                'cores': sum(flavor['vcpus'] for flavor in flavors),
                'ram': sum(flavor['ram'] for flavor in flavors)}

    def _checkQuota(self, flavor, project_id):
        used = self._getUsed(project_id)
        for name, wanted in (('instances', 1), ('cores', flavor['vcpus']),
                             ('ram', flavor['ram'])):
            limit = self.limits[name]
            if limit != -1 and used[name] + wanted > limit:
                raise Refusal(
                    403, f'Quota exceeded for {name}: Requested {wanted}, '
                         f'but already used {used[name]} of {limit} {name}')

    @route('GET', '/v2.1/os-availability-zone')
    @route('GET', '/v2.1/os-availability-zone/detail')
    def listZones(self, request):
        return {'availabilityZoneInfo': [
            {'zoneName': zone, 'hosts': None,
             'zoneState': {'available': zone not in self.closed}}
            for zone in self.zones]}

    @route('GET', '/v2.1/os-server-groups')
    def listGroups(self, request):
        return {'server_groups': list(self.groups.values())}

    @route('GET', '/v2.1/extensions')
    def listExtensions(self, request):
        return {'extensions': []}

    # Key pairs

    @route('GET', '/v2.1/os-keypairs')
    def listKeypairs(self, request):
        return {'keypairs': [
            {'keypair': keypair} for keypair in self.keypairs.values()]}

    @route('POST', '/v2.1/os-keypairs')
    def createKeypair(self, request):
        given = request.json['keypair']
        if given['name'] in self.keypairs:
            raise Refusal(409, f"Key pair '{given['name']}' already exists.")
        try:
            key = base64.b64decode(given['public_key'].split()[1])
        except (IndexError, binascii.Error) as error:
            raise Refusal(400, 'Keypair data is invalid') from error
        digest = hashlib.md5(key).hexdigest()
        self.keypairs[given['name']] = {
            'type': 'ssh', 'user_id': request.token['user']['id'],
            'fingerprint': ':'.join(digest[i:i + 2]
                                    for i in range(0, len(digest), 2)),
            **given}
        return Answer(201, {'keypair': self.keypairs[given['name']]})

    @route('GET', '/v2.1/os-keypairs/{name}')
    def getKeypair(self, request, name):
        if name not in self.keypairs:
            raise Refusal(404, f'Keypair {name} not found')
        return {'keypair': self.keypairs[name]}

    @route('DELETE', '/v2.1/os-keypairs/{name}')
    def deleteKeypair(self, request, name):
        self.getKeypair(request, name)
        del self.keypairs[name]
        return Answer(204)

    # Servers

    @route('POST', '/v2.1/servers')
    def createServer(self, request):
        given = request.json['server']
        if len(given.get('user_data') or '') > MOST_USERDATA:
            raise Refusal(400, 'Invalid input for field/attribute user_data. '
                               "It is too long")
        if len(given['name']) > 255 or given['name'] != given['name'].strip():
            raise Refusal(400, 'Invalid input for field/attribute name. '
                               f"Value: {given['name']}.")
        if not given['name']:
            raise Refusal(400, "Invalid input for field/attribute name. "
                               "Value: . '' should be non-empty")
        flavor = self.flavors.get(given['flavorRef'])
        if flavor is None:
            raise Refusal(400, f'Flavor {given["flavorRef"]} could not be '
                               f'found.')
        image_id = given.get('imageRef') or next(
            (each['uuid'] for each in given.get(
                'block_device_mapping_v2', ())
             if each.get('source_type') == 'image'), None)
        self._checkImage(request, image_id)
        self._checkMetadata(given.get('metadata', {}))
        zone = given.get('availability_zone', self.zones[0])
        if zone not in self.zones or zone in self.closed:
            raise Refusal(400, 'The requested availability zone is not '
                               'available')
        group_id = request.json.get('os:scheduler_hints', {}).get('group')
        if group_id and group_id not in self.groups:
            raise Refusal(400, f'Instance group {group_id} could not be '
                               f'found.')
        self._checkGroups(given.get('security_groups', ()))
        if _getMicroversion(request) >= (2, 37) and 'networks' not in given:
            raise Refusal(400, "Invalid input for field/attribute server. "
                               "'networks' is a required property")
        if given.get('key_name', '') not in ('', *self.keypairs):
            raise Refusal(400, 'Invalid key_name provided.')
        try:
            base64.b64decode(given.get('user_data') or '')
        except binascii.Error as error:
            raise Refusal(400, f'Invalid input for field/attribute '
                               f'user_data. Value: {given["user_data"]}. '
                               f"'{given['user_data']}' is not a "
                               f"'base64'") from error
        networks = self._getNetworks(given)
        self._checkQuota(flavor, request.project_id)
        self._checkQuotaOfPorts(networks)
        server_id = newID()
        volumes = self._createVolumes(given, server_id)
        self._ports[server_id] = [
            self._createPort(request, server_id, wanted, zone)
            for wanted in networks]
        self.servers[server_id] = {
            'id': server_id, 'name': given['name'], 'status': 'BUILD',
            'tenant_id': request.project_id,
            'user_id': request.token['user']['id'],
            'metadata': given.get('metadata', {}), 'tags': [],
            'image': {'id': given['imageRef'], 'links': []}
            if given.get('imageRef') else '',
            'flavor': {'id': flavor['id'], 'links': []},
            'key_name': given.get('key_name'),
            'config_drive': 'True' if given.get('config_drive') else '',
            'OS-EXT-SRV-ATTR:user_data': given.get('user_data'),
            'security_groups': given.get(
                'security_groups', [{'name': 'default'}]),
            'accessIPv4': '', 'accessIPv6': '', 'hostId': '', 'progress': 0,
            'created': now(), 'updated': now(), 'description': None,
            'OS-DCF:diskConfig': 'MANUAL',
            'OS-EXT-AZ:availability_zone': zone,
            'OS-EXT-STS:vm_state': 'building',
            'OS-EXT-STS:task_state': 'spawning',
            'OS-EXT-STS:power_state': 0, 'locked': False,
            'OS-SRV-USG:launched_at': None,
            'OS-SRV-USG:terminated_at': None,
            'os-extended-volumes:volumes_attached': volumes, 'links': []}
        if group_id:
            self.groups[group_id]['members'].append(server_id)
        self._polls[server_id] = self.build_polls
        if self.faults:
            self._failing[server_id] = self.faults.pop(0)
        elif zone in self.full:
            self._failing[server_id] = NO_VALID_HOST
        return Answer(202, {'server': {
            'id': server_id, 'links': [], 'adminPass': 'admin-password',
            'OS-DCF:diskConfig': 'MANUAL',
            'security_groups': self.servers[server_id]['security_groups']}})

    def _createVolumes(self, given, server_id):
        """Nova makes volumes without a name, and without metadata.

        :return: what the server shows of them.
        """
        volumes = []
        for wanted in given.get('block_device_mapping_v2', ()):
            if (wanted['source_type'], wanted['destination_type']) != (
                    'image', 'volume'):
                continue
            try:
                volume = self.cloud.cinder.addVolume(
                    self.cloud.glance.data.get(wanted['uuid'], b''),
                    wanted['volume_size'], bootable='true',
                    volume_type=wanted.get('volume_type', 'standard'),
                    volume_image_metadata={
                        'image_id': wanted['uuid'],
                        **self.cloud.glance.getProperties(wanted['uuid'])})
            except Refusal as refusal:
                self._failing[server_id] = (
                    f'Build of instance {server_id} aborted: '
                    f'{refusal.message}')
                continue
            self.cloud.cinder.attach(volume['id'], server_id)
            volumes.append({
                'id': volume['id'], 'delete_on_termination': wanted.get(
                    'delete_on_termination', False)})
        return volumes

    def _checkMetadata(self, metadata):
        if len(metadata) > METADATA_ITEMS:
            raise Refusal(403, f'Maximum number of metadata items exceeds '
                               f'{METADATA_ITEMS}')
        for key, value in metadata.items():
            if not METADATA_KEY.fullmatch(key) or not isinstance(
                    value, str) or len(value) > 255 or hasLong(value):
                why = ('too long' if isinstance(value, str)
                       and len(value) > 255 else 'wrong')
                raise Refusal(400, f'Invalid input for field/attribute '
                                   f"{key}. Value: {value}. '{value}' is "
                                   f'{why}')

    def _checkGroups(self, given):
        known = self.cloud.neutron.collections['security-groups'].values()
        for each in given:
            if not any(each['name'] in (group['name'], group['id'])
                       for group in known):
                raise Refusal(400, f'Unable to find security_group with '
                                   f"name or id '{each['name']}'")

    def _checkImage(self, request, image_id):
        image = self.cloud.glance.images.get(image_id)
        if image is None:
            raise Refusal(400, 'Can not find requested image')
        if image['status'] != 'active':
            raise Refusal(400, f'Image {image_id} is not active.')

    def _getNetworks(self, given):
        networks = given.get('networks', 'auto')
        if networks == 'none':
            return []
        if networks != 'auto':
            return networks
        own = [network['id'] for network
               in self.cloud.neutron.networks.values()
               if not network['router:external']]
        if len(own) > 1:
            raise Refusal(409, 'Multiple possible networks found, use a '
                               'Network ID to be more specific.')
        return [{'uuid': network_id} for network_id in own]

    def _checkQuotaOfPorts(self, networks):
        limit = self.cloud.neutron.quota['port']
        new = [each for each in networks if 'port' not in each]
        if limit != -1 and len(self.cloud.neutron.ports) + len(new) > limit:
            raise Refusal(403, 'Maximum number of ports exceeded')

    def _createPort(self, request, server_id, wanted, zone):
        """:return: the id of a port, and whether to delete it, too."""
        owner = {'device_id': server_id,
                 'device_owner': f'compute:{zone}'}
        if 'port' in wanted:
            self.cloud.neutron.ports[wanted['port']].update(owner)
            return wanted['port'], False
        if wanted['uuid'] not in self.cloud.neutron.networks:
            raise Refusal(400, f'Network {wanted["uuid"]} could not be '
                               f'found.')
        return self.cloud.neutron.createPort(
            wanted['uuid'], project_id=request.project_id,
            **owner)['id'], True

    def finish(self, server_id):
        """Let a server be built, or be gone, now."""
        with self.cloud.lock:
            self._polls[server_id] = 0
            self._poll(server_id)

    def _poll(self, server_id):
        """One who looks at a server sees it as it was, or no more."""
        polls = self._polls.get(server_id)
        if polls is None:
            return
        if polls > 0:
            self._polls[server_id] -= 1
            return
        del self._polls[server_id]
        server = self.servers[server_id]
        if server['OS-EXT-STS:task_state'] == 'deleting':
            self._remove(server_id)
            return
        server.update({'OS-EXT-STS:task_state': None, 'updated': now()})
        if server_id in self._failing:
            server.update({
                'status': 'ERROR', 'OS-EXT-STS:vm_state': 'error', 'fault': {
                    'code': 500, 'created': now(),
                    'message': self._failing.pop(server_id)}})
            return
        server.update({
            'status': 'ACTIVE', 'OS-EXT-STS:vm_state': 'active',
            'OS-EXT-STS:power_state': 1, 'progress': 100,
            'OS-SRV-USG:launched_at': now()})
        for port_id, _ in self._ports[server_id]:
            self.cloud.neutron.ports[port_id]['status'] = 'ACTIVE'
        self.on_active(server)

    def _remove(self, server_id):
        server = self.servers.pop(server_id)
        self.deleted.append({
            **server, 'status': 'DELETED', 'updated': now(),
            'OS-EXT-STS:vm_state': 'deleted', 'addresses': {},
            'OS-EXT-STS:task_state': None})
        for volume in server['os-extended-volumes:volumes_attached']:
            self.cloud.cinder.detach(
                volume['id'], volume['delete_on_termination'])
        for group in self.groups.values():
            if server_id in group['members']:
                group['members'].remove(server_id)
        self.consoles.pop(server_id, None)
        self._failing.pop(server_id, None)
        for port_id, ours in self._ports.pop(server_id):
            if ours:
                self.cloud.neutron.deletePort(port_id)
            elif port_id in self.cloud.neutron.ports:
                self.cloud.neutron.ports[port_id].update(
                    device_id='', device_owner='', status='DOWN')

    @route('GET', '/v2.1/servers')
    @route('GET', '/v2.1/servers/detail')
    def listServers(self, request):
        for server_id in list(self.servers):
            self._poll(server_id)
        servers = [self._show(request, server)
                   for server in (*self.servers.values(), *self.deleted)
                   if server['tenant_id'] == request.project_id]
        filters = request.filters
        # Those that are no more are shown to who asks for changes only.
        since = filters.pop('changes-since', None)
        if since is None:
            servers = [server for server in servers
                       if server['status'] != 'DELETED']
        else:
            try:
                datetime.datetime.strptime(since[0], '%Y-%m-%dT%H:%M:%SZ')
            except ValueError as error:
                raise Refusal(
                    400, 'Invalid input for query parameters changes-since. '
                         f"Value: {since[0]}. '{since[0]}' is not a "
                         "'date-time'") from error
            servers = [server for server in servers
                       if server['updated'] >= since[0]]
        for name, (wanted, *_) in filters.items():
            if name == 'name':
                servers = [server for server in servers
                           if wanted.strip('^$') in server['name']]
            elif name == 'status':
                servers = [server for server in servers
                           if server['status'] == wanted.upper()]
        return self.page(request, servers, 'servers', self.limit)

    @route('GET', '/v2.1/servers/{server_id}')
    def getServer(self, request, server_id):
        if server_id in self.servers:
            self._poll(server_id)
        return {'server': self._show(request, self._get(server_id))}

    def _get(self, server_id):
        if server_id not in self.servers:
            raise Refusal(404, f'Instance {server_id} could not be found.')
        return self.servers[server_id]

    def _show(self, request, server):
        shown = {'addresses': self._getAddresses(server['id']), **server}
        if _getMicroversion(request) >= (2, 47):
            flavor = self.flavors[server['flavor']['id']]
            shown['flavor'] = {
                'original_name': flavor['name'], 'ram': flavor['ram'],
                'vcpus': flavor['vcpus'], 'disk': flavor['disk'],
                'ephemeral': 0, 'swap': 0,
                'extra_specs': flavor['extra_specs']}
        return shown

    def _getAddresses(self, server_id):
        neutron = self.cloud.neutron
        addresses = {}
        for port_id, _ in self._ports.get(server_id, ()):
            port = neutron.ports.get(port_id)
            if port is None or self.servers[server_id]['status'] == 'BUILD':
                continue
            network = neutron.networks[port['network_id']]
            known = [('fixed', fixed['ip_address'])
                     for fixed in port['fixed_ips']]
            known += [('floating', floating['floating_ip_address'])
                      for floating in neutron.floatingips.values()
                      if floating['port_id'] == port_id]
            addresses.setdefault(network['name'], []).extend({
                'version': 4, 'addr': address, 'OS-EXT-IPS:type': kind,
                'OS-EXT-IPS-MAC:mac_addr': port['mac_address'],
            } for kind, address in known)
        return addresses

    @route('DELETE', '/v2.1/servers/{server_id}')
    def deleteServer(self, request, server_id):
        server = self._get(server_id)
        server.update({'OS-EXT-STS:task_state': 'deleting',
                       'updated': now()})
        self._polls[server_id] = self.delete_polls
        return Answer(204)

    @route('POST', '/v2.1/servers/{server_id}/action')
    def act(self, request, server_id):
        server = self._get(server_id)
        (action, options), = request.json.items()
        if action == 'createImage':
            return self._createImage(request, server, options)
        if action != 'os-getConsoleOutput':
            raise Refusal(400, f'There is no action {action}.')
        if server['status'] == 'BUILD':
            raise Refusal(409, f'Instance {server_id} is not ready')
        output = self.consoles.get(server_id, '')
        if output is None:
            raise Refusal(404, 'Unable to get console log')
        if options and options.get('length') not in (None, -1):
            lines = output.splitlines(keepends=True)
            output = ''.join(lines[-int(options['length']):])
        return {'output': output}

    def _createImage(self, request, server, options):
        if server['status'] != 'ACTIVE':
            raise Refusal(409, f"Cannot 'createImage' instance "
                               f"{server['id']} while it is in vm_state "
                               f"{server['OS-EXT-STS:vm_state']}")
        self._checkMetadata(options.get('metadata', {}))
        glance = self.cloud.glance
        properties, data = options.get('metadata', {}), b''
        if server['image']:
            image_id = server['image']['id']
            properties = {**glance.getProperties(image_id), **properties}
            data = glance.data.get(image_id, b'')
        image = glance.addImage(
            request.project_id, data, name=options['name'],
            disk_format='qcow2', container_format='bare', **properties)
        return Answer(202, {'image_id': image['id']}, {
            'Location': f'{glance.url}/v2/images/{image["id"]}'})

    @route('GET', '/v2.1/servers/{server_id}/metadata')
    def getMetadata(self, request, server_id):
        return {'metadata': self._get(server_id)['metadata']}

    @route('POST', '/v2.1/servers/{server_id}/metadata')
    def addMetadata(self, request, server_id):
        self._get(server_id)['metadata'].update(request.json['metadata'])
        return self.getMetadata(request, server_id)

    @route('GET', '/v2.1/servers/{server_id}/tags')
    def getTags(self, request, server_id):
        return {'tags': self._get(server_id)['tags']}

    @route('PUT', '/v2.1/servers/{server_id}/tags')
    def setTags(self, request, server_id):
        self._get(server_id)['tags'] = request.json['tags']
        return self.getTags(request, server_id)

    @route('GET', '/v2.1/servers/{server_id}/os-volume_attachments')
    def listVolumes(self, request, server_id):
        volumes = self._get(server_id)['os-extended-volumes:volumes_attached']
        return {'volumeAttachments': [
            {'id': volume['id'], 'volumeId': volume['id'],
             'serverId': server_id, 'device': '/dev/vda',
             'delete_on_termination': volume['delete_on_termination']}
            for volume in volumes]}


def _getMicroversion(request):
    version = request.headers.get(MICROVERSION) or '2.1'
    newer = request.headers.get('openstack-api-version')
    if newer:
        version = newer.split()[-1]
    return _parse(version)


def _parse(version):
    return tuple(map(int, version.split('.')))
