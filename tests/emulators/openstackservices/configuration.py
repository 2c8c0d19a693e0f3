"""The configuration of each service.

What the options mean: https://docs.openstack.org/nova/latest/configuration/
and the same page of each other service.
"""

import base64
import configparser
import os
import pathlib

from tests.emulators.openstackservices.backends import PASSWORD
from zuul_nodes.quickstart.ports import LOOPBACK

# In which the services trust one another.
SERVICE_USER = 'service'
# Of the services that have an API: name -> type, module, path.
APIS = {
    'keystone': ('identity', 'keystone.wsgi.api', '/v3'),
    'placement': ('placement', 'placement.wsgi.api', ''),
    'glance': ('image', 'glance.wsgi.api', ''),
    'neutron': ('network', 'neutron.wsgi.api', ''),
    'nova': ('compute', 'nova.wsgi.osapi_compute', '/v2.1'),
    'cinder': ('block-storage', 'cinder.wsgi.api', '/v3'),
}
# Zones of Nova, with one host of the same name each.
ZONES = ('east', 'west')
# What they want the file of their configuration to be called.
FILES = {'glance': 'glance-api.conf'}
# The external network of Neutron is on it.
PHYSICAL_NETWORK = 'outside'


class Configuration:
    """
    :param Path directory: made; has the configuration and the state.
    :param MariaDB database: and
    :param RabbitMQ messages: what the services use.
    :param dict ports: name -> port, of those that have an API.
    """

    def __init__(self, directory, installation, database, messages, ports):
        self.directory = pathlib.Path(directory)
        self.installation = installation
        self.database = database
        self.messages = messages
        self.ports = ports

    def getURL(self, name):
        """:return: of the API of a service, as the catalog has it."""
        *_, path = APIS[name]
        return f'http://{LOOPBACK}:{self.ports[name]}{path}'

    def getPath(self, name):
        """:return: of the configuration of a service."""
        return self.directory / name / FILES.get(name, f'{name}.conf')

    def getEnvironment(self):
        """:return: what tells the services where their configuration is."""
        return {f'OS_{name.upper()}_CONFIG_DIR': str(self.directory / name)
                for name in APIS}

    def write(self):
        for name in APIS:
            state = self.directory / name
            state.mkdir(parents=True)
            # What paths of requests lead where; looked for beside the file.
            for path in (self.installation.etc / name).glob('*.ini'):
                (state / path.name).symlink_to(path)
            self.writeFile(self.getPath(name), _merge(
                self._getCommon(name), getattr(self, f'_get_{name}')(state)))
        for kind in ('fernet', 'credential'):
            self._writeKeys(self.directory / 'keystone' / kind)

    def writeFile(self, path, sections):
        parser = configparser.RawConfigParser(default_section=None)
        parser.read_dict(sections)
        with open(path, 'w') as stream:
            parser.write(stream)

    def _writeKeys(self, directory):
        directory.mkdir(mode=0o700)
        for number in range(2):
            path = directory / str(number)
            path.write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
            path.chmod(0o600)

    def _getAuth(self):
        """:return: how a service logs in."""
        return {
            'auth_type': 'password',
            'auth_url': self.getURL('keystone'),
            'username': SERVICE_USER,
            'password': PASSWORD,
            'project_name': SERVICE_USER,
            'user_domain_id': 'default',
            'project_domain_id': 'default',
            'region_name': 'RegionOne',
        }

    def _getCommon(self, name):
        state = self.directory / name
        return {
            'DEFAULT': {
                'state_path': state,
                'transport_url': self.messages.url},
            'database': {'connection': self.database.getURL(name)},
            'keystone_authtoken': {
                **self._getAuth(),
                'service_token_roles': 'service',
                'service_token_roles_required': True,
                'www_authenticate_uri': self.getURL('keystone')},
            'oslo_concurrency': {'lock_path': state / 'locks'},
        }

    def _get_keystone(self, state):
        return {
            'fernet_receipts': {'key_repository': state / 'fernet'},
            'fernet_tokens': {'key_repository': state / 'fernet'},
            'credential': {'key_repository': state / 'credential'},
            # It is to be quick, not safe.
            'identity': {'password_hash_rounds': 4},
        }

    def _get_placement(self, state):
        return {'placement_database': {
            'connection': self.database.getURL('placement')}}

    def _get_glance(self, state):
        stores = {
            name: {'filesystem_store_datadir': state / name}
            for name in ('files', 'os_glance_staging_store',
                         'os_glance_tasks_store')}
        for name in stores:
            (state / name).mkdir()
        return {
            'DEFAULT': {
                'bind_host': LOOPBACK, 'bind_port': self.ports['glance'],
                'enabled_backends': 'files:file',
                'enabled_import_methods': '[glance-direct,web-download]',
                'worker_self_reference_url': self.getURL('glance')},
            'glance_store': {'default_backend': 'files'},
            # Loopback is a place like any other here.
            'import_filtering_opts': {
                'allowed_hosts': f'[{LOOPBACK}]', 'allowed_ports': '[]'},
            'paste_deploy': {'flavor': 'keystone'},
            'task': {'work_dir': state},
            **stores,
        }

    def _get_neutron(self, state):
        return {
            'DEFAULT': {
                'core_plugin': 'ml2',
                'dhcp_agent_notification': False,
                'service_plugins': 'agentless'},
            'ml2': {
                'extension_drivers': 'port_security',
                'mechanism_drivers': 'agentless',
                'tenant_network_types': 'local',
                'type_drivers': 'local,flat'},
            'ml2_type_flat': {'flat_networks': PHYSICAL_NETWORK},
            'nova': self._getAuth(),
        }

    def _get_nova(self, state):
        auth = self._getAuth()
        return {
            'DEFAULT': {
                'compute_driver': 'fake.FakeDriver',
                'my_ip': LOOPBACK},
            'api_database': {'connection': self.database.getURL('nova_api')},
            'cinder': {**auth, 'catalog_info': 'block-storage::publicURL'},
            'conductor': {'workers': 1},
            'glance': auth,
            'neutron': auth,
            'placement': auth,
            'scheduler': {
                'discover_hosts_in_cells_interval': 1, 'workers': 1},
            'service_user': {**auth, 'send_service_user_token': True},
            'vnc': {'enabled': False},
        }

    def _get_cinder(self, state):
        return {
            'DEFAULT': {
                'enabled_backends': 'fake',
                'glance_api_servers': self.getURL('glance'),
                'my_ip': LOOPBACK,
                'resource_query_filters_file':
                    self.installation.etc / 'cinder/resource_filters.json'},
            'coordination': {'backend_url': f'file://{state}'},
            'fake': {
                'volume_backend_name': 'fake',
                'volume_driver': 'cloning.CloningVolumeDriver'},
            'nova': self._getAuth(),
            'service_user': {
                **self._getAuth(), 'send_service_user_token': True},
        }


def _merge(common, own):
    return {name: {**common.get(name, {}), **own.get(name, {})}
            for name in {**common, **own}}
