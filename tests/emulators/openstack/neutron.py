"""Networks, version 2.0: what servers and floating IPs need.

There is a private network, a router, and a public network.  All addresses
are on loopback, where a test can have something answer them.
"""

import ipaddress

from tests.emulators.emulation import Answer, Refusal
from tests.emulators.openstack.core import Service, newID, now, route

# Collection -> what the API calls one of them.
COLLECTIONS = {
    'networks': 'network', 'subnets': 'subnet', 'ports': 'port',
    'floatingips': 'floatingip', 'security-groups': 'security_group',
    'security-group-rules': 'security_group_rule', 'routers': 'router',
    'address-scopes': 'address_scope', 'subnetpools': 'subnetpool'}
EXTENSIONS = ('router', 'external-net', 'security-group', 'quotas',
              'quota_details', 'standard-attr-description')


class Neutron(Service):
    """
    :ivar dict collections: name -> id -> resource, of all there are.
    :ivar dict networks, subnets, ports, floatingips: some of them.
    :ivar dict quota: what one has a limit of -> the limit, -1 for none.
    :ivar int floating_polls: how often a floating IP that has a port is
        looked at before it is active.
    :ivar dict private, public: the networks that are there at first.
    """

    type = 'network'
    path = '/network'
    version = ''

    def __init__(self, cloud):
        super().__init__(cloud)
        self.collections = {name: {} for name in COLLECTIONS}
        self.networks = self.collections['networks']
        self.subnets = self.collections['subnets']
        self.ports = self.collections['ports']
        self.floatingips = self.collections['floatingips']
        self.quota = {'port': -1, 'floatingip': -1, 'network': -1}
        self.floating_polls = 0
        self._polls = {}
        self._addresses = 0
        self.admin, *_ = cloud.keystone.projects
        self.private = self.addNetwork('private', '127.1.0.0/16')
        self.public = self.addNetwork(
            'public', '127.2.0.0/16', **{'router:external': True})
        self._add('routers', name='router', external_gateway_info={
            'network_id': self.public['id']}, admin_state_up=True,
            status='ACTIVE', routes=[])
        self._add('security-groups', name='default', description='',
                  security_group_rules=[], stateful=True)

    def formatError(self, refusal):
        return {'NeutronError': {
            'type': 'Error', 'message': refusal.message, 'detail': ''}}

    def addNetwork(self, name, cidr, **attributes):
        """:return: a new network with one subnet, which can be changed."""
        network = self._add('networks', name=name, **{
            'status': 'ACTIVE', 'admin_state_up': True, 'shared': False,
            'router:external': False, 'subnets': [], 'mtu': 1500,
            'port_security_enabled': True, 'is_default': False,
            'provider:network_type': None, 'availability_zones': ['nova'],
            **attributes})
        hosts = ipaddress.ip_network(cidr)
        subnet = self._add(
            'subnets', name=f'{name}-subnet', network_id=network['id'],
            cidr=cidr, ip_version=4, gateway_ip=str(hosts[1]),
            enable_dhcp=True, dns_nameservers=[], host_routes=[],
            allocation_pools=[{'start': str(hosts[2]),
                               'end': str(hosts[-2])}])
        network['subnets'].append(subnet['id'])
        return network

    def getSubnet(self, network):
        return self.subnets[network['subnets'][0]]

    def _add(self, collection, project_id=None, **attributes):
        project_id = project_id or self.admin
        resource = {'id': newID(), 'project_id': project_id,
                    'tenant_id': project_id, 'description': '', 'tags': [],
                    'created_at': now(), 'updated_at': now(),
                    'revision_number': 1, **attributes}
        self.collections[collection][resource['id']] = resource
        return resource

    @route('GET', '', public=True)
    def getVersions(self, request):
        return {'versions': [{'id': 'v2.0', 'status': 'CURRENT', 'links': [
            {'rel': 'self', 'href': f'{self.url}/v2.0/'}]}]}

    @route('GET', '/v2.0/extensions')
    def listExtensions(self, request):
        return {'extensions': [
            {'alias': alias, 'name': alias, 'description': alias,
             'links': [], 'updated': '2020-01-01T00:00:00-00:00'}
            for alias in EXTENSIONS]}

    @route('GET', '/v2.0/quotas/{project_id}')
    def getQuota(self, request, project_id):
        return {'quota': self.quota}

    @route('GET', '/v2.0/quotas/{project_id}/details.json')
    @route('GET', '/v2.0/quotas/{project_id}/details')
    def getQuotaDetails(self, request, project_id):
        return {'quota': {
            name: {'limit': limit, 'reserved': 0,
                   'used': len(self.collections[f'{name}s'])}
            for name, limit in self.quota.items()}}

    @route('GET', '/v2.0/{collection}')
    def listResources(self, request, collection):
        resources = list(self._getCollection(collection).values())
        if collection == 'floatingips':
            resources = [self._poll(each) for each in resources]
        for name, values in request.filters.items():
            if name == 'fixed_ips':
                resources = [each for each in resources if any(
                    f'ip_address={fixed["ip_address"]}' in values
                    for fixed in each['fixed_ips'])]
            else:
                resources = [each for each in resources
                             if _isOne(each.get(name), values)]
        return self.page(request, resources, collection.replace('-', '_'))

    def _getCollection(self, collection):
        if collection not in self.collections:
            raise Refusal(404, 'The resource could not be found.')
        return self.collections[collection]

    def _get(self, collection, resource_id):
        resource = self._getCollection(collection).get(resource_id)
        if resource is None:
            raise Refusal(404, f'{COLLECTIONS[collection].title()} '
                               f'{resource_id} could not be found.')
        return resource

    @route('GET', '/v2.0/{collection}/{resource_id}')
    def getResource(self, request, collection, resource_id):
        resource = self._get(collection, resource_id)
        if collection == 'floatingips':
            self._poll(resource)
        return {COLLECTIONS[collection]: resource}

    @route('POST', '/v2.0/{collection}')
    def createResource(self, request, collection):
        self._getCollection(collection)
        name = COLLECTIONS[collection]
        given = {**request.json[name], 'project_id': request.project_id}
        for attribute in ('name', 'description'):
            if len(given.get(attribute) or '') > 255:
                raise Refusal(400, f'Invalid input for {attribute}. Reason: '
                                   "it exceeds maximum length of 255.")
        if collection == 'ports':
            resource = self.createPort(**given)
        elif collection == 'floatingips':
            resource = self._createFloatingIp(**given)
        else:
            self._checkQuota(name)
            resource = self._add(collection, **given)
        return Answer(201, {name: resource})

    @route('PUT', '/v2.0/{collection}/{resource_id}')
    def updateResource(self, request, collection, resource_id):
        resource = self._get(collection, resource_id)
        given = request.json[COLLECTIONS[collection]]
        if collection == 'floatingips' and 'port_id' in given:
            self._associate(resource, given.pop('port_id'))
        resource.update(given)
        return {COLLECTIONS[collection]: resource}

    @route('DELETE', '/v2.0/{collection}/{resource_id}')
    def deleteResource(self, request, collection, resource_id):
        self._get(collection, resource_id)
        if collection == 'ports':
            self.deletePort(resource_id)
        else:
            del self.collections[collection][resource_id]
        return Answer(204)

    def _checkQuota(self, name):
        limit = self.quota.get(name, -1)
        if limit != -1 and len(self.collections.get(f'{name}s', ())) >= limit:
            raise Refusal(409, f"Quota exceeded for resources: ['{name}'].")

    def createPort(self, network_id, **attributes):
        """:return: a new port, with an address."""
        self._checkQuota('port')
        network = self._get('networks', network_id)
        address = self._allocate(network)
        self._addresses += 1
        return self._add('ports', **{
            'name': '', 'network_id': network_id, 'status': 'DOWN',
            'device_id': '', 'device_owner': '', 'admin_state_up': True,
            'mac_address': 'fa:16:3e:{:02x}:{:02x}:{:02x}'.format(
                *self._addresses.to_bytes(3)),
            'fixed_ips': [{'subnet_id': network['subnets'][0],
                           'ip_address': address}],
            'security_groups': [], 'allowed_address_pairs': [],
            'port_security_enabled': True,
            'binding:vnic_type': 'normal', **attributes})

    def deletePort(self, port_id):
        """Its floating IPs stay."""
        self.ports.pop(port_id, None)
        for floating_ip in self.floatingips.values():
            if floating_ip['port_id'] == port_id:
                self._associate(floating_ip, None)

    def _allocate(self, network):
        used = {fixed['ip_address'] for port in self.ports.values()
                for fixed in port['fixed_ips']}
        used.update(floating_ip['floating_ip_address']
                    for floating_ip in self.floatingips.values())
        for pool in self.getSubnet(network)['allocation_pools']:
            address = ipaddress.ip_address(pool['start'])
            while address <= ipaddress.ip_address(pool['end']):
                if str(address) not in used:
                    return str(address)
                address += 1
        raise Refusal(409, f'No more IP addresses available on network '
                           f'{network["id"]}.')

    def _createFloatingIp(self, floating_network_id, port_id=None,
                          **attributes):
        self._checkQuota('floatingip')
        network = self._get('networks', floating_network_id)
        if not network['router:external']:
            raise Refusal(400, f'Bad floatingip request: Network '
                               f'{network["id"]} is not a valid external '
                               f'network.')
        if port_id:
            self._get('ports', port_id)
            if any(each['port_id'] == port_id
                   for each in self.floatingips.values()):
                raise Refusal(409, f'Cannot associate floating IP with port '
                                   f'{port_id}, as that fixed IP already '
                                   f'has a floating IP on external network '
                                   f'{network["id"]}.')
        attributes.pop('fixed_ip_address', None)
        floating_ip = self._add(
            'floatingips', floating_network_id=network['id'],
            floating_ip_address=self._allocate(network),
            router_id=None, **attributes)
        self._associate(floating_ip, port_id)
        return floating_ip

    def _associate(self, floating_ip, port_id):
        port = self._get('ports', port_id) if port_id else None
        floating_ip.update(
            port_id=port_id, status='DOWN',
            fixed_ip_address=port and port['fixed_ips'][0]['ip_address'],
            port_details=port and {
                'device_id': port['device_id'],
                'device_owner': port['device_owner']})
        self._polls[floating_ip['id']] = self.floating_polls

    def _poll(self, floating_ip):
        """:return: the floating IP, after the time that this takes."""
        if floating_ip['port_id'] and floating_ip['status'] == 'DOWN':
            if self._polls[floating_ip['id']] > 0:
                self._polls[floating_ip['id']] -= 1
            else:
                floating_ip['status'] = 'ACTIVE'
        return floating_ip


def _isOne(value, wanted):
    if isinstance(value, bool):
        return str(value).lower() in [each.lower() for each in wanted]
    return ('' if value is None else str(value)) in wanted
