"""What is in the cloud: who may use it, and what for."""

import secrets

import openstack
import yaml

from tests.emulators.openstackservices.backends import PASSWORD
from tests.emulators.openstackservices.configuration import (
    APIS,
    PHYSICAL_NETWORK,
    SERVICE_USER,
    ZONES,
)

REGION = 'RegionOne'
# name -> (MB, processors, GB); a host has room for one of the last.
FLAVORS = {'m1.tiny': (512, 1, 1), 'm1.small': (2048, 1, 20),
           'm1.medium': (4096, 2, 40), 'm1.large': (512, 1, 400000)}
IMAGE = 'base'


class Cloud:
    """
    :param Configuration configuration: tells where the services are.
    :ivar Connection admin: may do anything.
    :ivar dict projects: name -> :class:`Project`.
    :ivar Network public: the external one, when all is there.
    """

    def __init__(self, configuration):
        self.configuration = configuration
        self.projects = {}
        self.public = None
        self._register()
        self.admin = openstack.connect(**self._getSettings('admin', 'admin'))

    def _getSettings(self, user, project, password=PASSWORD):
        return {
            'auth': {
                'auth_url': self.configuration.getURL('keystone'),
                'username': user, 'password': password,
                'project_name': project,
                'user_domain_name': 'Default',
                'project_domain_name': 'Default'},
            'region_name': REGION}

    def close(self):
        for project in self.projects.values():
            project.client.close()
        self.admin.close()

    def _register(self):
        """Have Keystone know the services, and their user."""
        # The catalog is empty, and each connection has its own copy.
        with openstack.connect(
                **self._getSettings('admin', 'admin'),
                identity_endpoint_override=self.configuration.getURL(
                    'keystone')) as client:
            client.identity.create_region(id=REGION)
            for name, (type_, *_) in APIS.items():
                service = (client.identity.find_service(name)
                           or client.identity.create_service(
                               name=name, type=type_))
                for interface in ('public', 'internal'):
                    client.identity.create_endpoint(
                        service_id=service.id, interface=interface,
                        region_id=REGION,
                        url=self.configuration.getURL(name))
            _addUser(client.identity, SERVICE_USER, PASSWORD,
                     'admin', 'service')

    def hasHosts(self):
        """:return: whether Nova knows all of its hosts."""
        return len(list(self.admin.compute.hypervisors())) == len(ZONES)

    def fill(self):
        """Add what all projects use."""
        compute, network = self.admin.compute, self.admin.network
        for zone in ZONES:
            aggregate = compute.create_aggregate(
                name=zone, availability_zone=zone)
            compute.add_host_to_aggregate(aggregate, zone)
        for name, (ram, vcpus, disk) in FLAVORS.items():
            compute.create_flavor(name=name, ram=ram, vcpus=vcpus, disk=disk)
        self.admin.image.create_image(
            IMAGE, data=b'image', container_format='bare',
            disk_format='raw', visibility='public')
        self.public = network.create_network(
            name='public', provider_network_type='flat',
            provider_physical_network=PHYSICAL_NETWORK,
            is_router_external=True)
        network.create_subnet(
            network_id=self.public.id, ip_version=4, cidr='127.2.0.0/16',
            is_dhcp_enabled=False)

    def makeProject(self, name):
        """:return: a new :class:`Project`, with a network and a router."""
        password = secrets.token_hex()
        project = _addUser(self.admin.identity, name, password, 'member')
        self.projects[name] = Project(
            name, project.id, self._getSettings(name, name, password), self)
        return self.projects[name]

    def writeConfig(self, path, **settings):
        """Write a clouds.yaml with all projects, and with the cloud
        ``admin``.

        :param settings: what else each cloud has.
        """
        clouds = {'admin': self._getSettings('admin', 'admin')}
        clouds |= {name: project.settings
                   for name, project in self.projects.items()}
        path.write_text(yaml.safe_dump({'clouds': {
            name: cloud | settings for name, cloud in clouds.items()}}))
        return path


class Project:
    """
    :ivar str name: its own,
    :ivar str id: and that by which services know it.
    :ivar Connection client: of its user, who is no administrator.
    :ivar dict settings: how one connects to it.
    """

    def __init__(self, name, project_id, settings, cloud):
        self.name = name
        self.id = project_id
        self.settings = settings
        self.cloud = cloud
        self.client = openstack.connect(**settings)
        network = self.client.network
        self.network = network.create_network(name='private')
        subnet = network.create_subnet(
            network_id=self.network.id, ip_version=4, cidr='127.1.0.0/16',
            is_dhcp_enabled=False)
        self.router = network.create_router(
            name='router',
            external_gateway_info={'network_id': cloud.public.id})
        network.add_interface_to_router(self.router, subnet_id=subnet.id)

    def setQuota(self, service='compute', **limits):
        """
        :param str service: compute, network or block_storage.
        :param limits: name of a limit -> number.
        """
        admin = self.cloud.admin
        set_ = {'compute': admin.set_compute_quotas,
                'network': admin.set_network_quotas,
                'block_storage': admin.set_volume_quotas}[service]
        set_(self.id, **limits)

    def list(self):
        """:return: ids of all that nodes and images leave behind."""
        return [each.id for things in self._list().values()
                for each in things]

    def _list(self):
        """:return: what deletes a thing -> those that there are."""
        client = self.client
        return {
            client.compute.delete_server: client.compute.servers(),
            client.network.delete_ip: client.network.ips(),
            # Others are the router's.
            client.network.delete_port: [
                port for port in client.network.ports()
                if not port.device_owner.startswith('network:')],
            client.image.delete_image: client.image.images(owner=self.id),
            client.block_storage.delete_volume:
                client.block_storage.volumes()}

    def clear(self):
        """Have it be as if it were new."""
        admin = self.cloud.admin
        admin.delete_compute_quotas(self.id)
        admin.delete_network_quotas(self.id)
        admin.delete_volume_quotas(self.id)
        for delete, things in self._list().items():
            for each in list(things):
                delete(each.id)
                if delete == self.client.compute.delete_server:
                    self.client.compute.wait_for_delete(each)


def _addUser(identity, name, password, *roles):
    """Add a user, with a project of the same name.

    :return: the project.
    """
    project = identity.create_project(name=name, domain_id='default')
    user = identity.create_user(
        name=name, password=password, domain_id='default')
    for role in roles:
        identity.assign_project_role_to_user(
            project, user, identity.find_role(role))
    return project
