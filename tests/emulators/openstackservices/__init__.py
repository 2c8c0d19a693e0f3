"""OpenStack's own services on loopback, for tests.

::

    cloud = OpenStackServices(directory)
    cloud.start()
    cloud.writeConfig(path)             # clouds.yaml
    cloud.end()

Keystone, Placement, Glance, Neutron, Nova and Cinder are as their projects
release them, with MariaDB and RabbitMQ.  Only what would need a hypervisor,
agents of networks or storage is not there: instances are those of Nova's
fake driver, on two hosts in two zones, and volumes those of Cinder's.
"""

import os
import pathlib
import shutil

import requests

from tests.emulators.openstackservices.backends import (
    PASSWORD,
    MariaDB,
    RabbitMQ,
)
from tests.emulators.openstackservices.cloud import Cloud
from tests.emulators.openstackservices.configuration import (
    APIS,
    ZONES,
    Configuration,
)
from tests.emulators.openstackservices.installation import Installation
from tests.fixtures.packages import writePackage
from zuul_nodes.quickstart.ports import LOOPBACK, freePorts
from zuul_nodes.quickstart.services import Services

HERE = pathlib.Path(__file__).parent
# Seconds that a program may take, and until all answer.
TIMEOUT = 300
# What Nova fills in from its configuration: ports are others each time.
TEMPLATE = '{scheme}://{username}:{password}@{hostname}:{port}/'
# Commands that make the tables, and what has to be in them.
MIGRATIONS = (
    ('keystone', 'keystone-manage', 'db_sync'),
    ('keystone', 'keystone-manage', 'bootstrap', '--bootstrap-password',
     PASSWORD),
    ('placement', 'placement-manage', 'db', 'sync'),
    ('glance', 'glance-manage', 'db_sync'),
    ('neutron', 'neutron-db-manage', 'upgrade', 'heads'),
    ('nova', 'nova-manage', 'api_db', 'sync'),
    ('nova', 'nova-manage', 'cell_v2', 'map_cell0', '--database_connection',
     f'{TEMPLATE}nova_cell0?{{query}}'),
    ('nova', 'nova-manage', 'db', 'sync'),
    ('nova', 'nova-manage', 'cell_v2', 'create_cell', '--name', 'cell1',
     '--database_connection', f'{TEMPLATE}nova?{{query}}',
     '--transport-url', f'{TEMPLATE}/'),
    ('cinder', 'cinder-manage', 'db', 'sync'),
)


class OpenStackServices:
    """
    :param Path directory: made; for what they write.
    :param Installation installation: of the programs.
    :ivar Cloud cloud: what is in it.
    """

    def __init__(self, directory, installation=None):
        self.directory = pathlib.Path(directory)
        self.installation = installation or Installation()
        self.cloud = None
        ports = freePorts(len(APIS) + 4)
        self.database = MariaDB(
            self.installation, self.directory / 'database', ports.pop())
        self.messages = RabbitMQ(
            self.installation, self.directory / 'messages',
            [ports.pop() for _ in range(3)])
        self.configuration = Configuration(
            self.directory / 'services', self.installation, self.database,
            self.messages, dict(zip(APIS, ports, strict=True)))
        self.services = Services(self.directory / 'logs', {
            **os.environ,
            **self.configuration.getEnvironment(),
            'NO_PROXY': LOOPBACK,
            'PYTHONPATH': str(self.directory / 'packages'),
            'PYTHONUNBUFFERED': '1'})

    def start(self):
        """Returns when nodes can be made.

        :raises Failure: one of them ended, or does not answer.
        """
        self.installation.ensure()
        self.installation.once(
            'database', f'{MIGRATIONS} {self.installation.versions}',
            self._makeDatabase)
        self.directory.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.installation.directory / 'database',
                        self.database.directory)
        self._prepare()
        self._run()
        for name in APIS:
            self._wait(name)
        self.services.waitFor(
            self.cloud.hasHosts, 'the hosts are not there', TIMEOUT,
            'nova-scheduler')
        self.cloud.fill()

    def _prepare(self):
        self.services.environment['LD_LIBRARY_PATH'] = ':'.join(
            map(str, self.installation.root.glob('usr/lib/*-linux-gnu')))
        (self.directory / 'logs').mkdir()
        self.configuration.write()
        for zone in ZONES:
            state = self.directory / 'services/nova' / zone
            state.mkdir()
            self.configuration.writeFile(state / 'nova.conf', {
                'DEFAULT': {'host': zone, 'state_path': state}})
        writePackage(
            self.directory / 'packages', 'openstack-without-hardware',
            entry_points={
                'neutron.ml2.mechanism_drivers': {
                    'agentless': 'agentless:AgentlessMechanismDriver'},
                'neutron.service_plugins': {
                    'agentless': 'agentless:AgentlessRouterPlugin'}},
            modules={name: (HERE / f'{name}.py').read_text()
                     for name in ('agentless', 'cloning')})

    def _run(self):
        """Start all that there is."""
        database = self.database.start(self.services)
        messages = self.messages.start(self.services)
        self.database.wait(database)
        self._serve('keystone')
        self._wait('keystone')
        self.cloud = Cloud(self.configuration)
        self.messages.wait(messages)
        for name in APIS:
            if name != 'keystone':
                self._serve(name)
        for program in ('nova-conductor', 'nova-scheduler',
                        'cinder-scheduler', 'cinder-volume'):
            self._startProgram(program)
        for zone in ZONES:
            self._startProgram(
                'nova-compute', self.directory / 'services/nova' / zone
                / 'nova.conf')

    def _serve(self, name):
        _, module, _ = APIS[name]
        self.services.start(name, [
            self.installation.bin / 'python', HERE / 'serve.py', module,
            self.configuration.ports[name], self.configuration.getPath(name)])

    def _startProgram(self, program, *configurations):
        service, _, _ = program.partition('-')
        files = [self.configuration.getPath(service), *configurations]
        name = '-'.join([program, *(path.parent.name
                                    for path in configurations)])
        self.services.start(name, [
            self.installation.bin / program,
            *(f'--config-file={path}' for path in files)])

    def _wait(self, name):
        """Wait until an API answers."""
        url = f'http://{LOOPBACK}:{self.configuration.ports[name]}/'
        self.services.waitFor(
            lambda: _answers(url), f'{name} does not answer', TIMEOUT, name)

    def _makeDatabase(self, path):
        """Make the tables of all services, without what is of one run."""
        scratch = path.with_name('database.new')
        shutil.rmtree(scratch, ignore_errors=True)
        maker = OpenStackServices(scratch, self.installation)
        maker.directory.mkdir()
        maker._prepare()
        try:
            maker._migrate()
            maker.services.processes.pop('mariadb').stop(TIMEOUT)
            maker.database.directory.rename(path)
        finally:
            maker.end()
        shutil.rmtree(scratch)

    def _migrate(self):
        self.database.create(self.services)
        self.database.wait(self.database.start(self.services))
        for name, program, *arguments in MIGRATIONS:
            self.services.start(program, [
                self.installation.bin / program, '--config-file',
                self.configuration.getPath(name), *arguments,
            ]).finish(TIMEOUT)
            del self.services.processes[program]

    def end(self):
        """End all of them, and throw away all but their logs; may be called
        again."""
        if self.cloud:
            self.cloud.close()
        # Some want to come to an end of what they do, which takes long.
        for process in self.services.processes.values():
            process.kill()
        self.services.processes.clear()
        for path in (self.database.directory, self.messages.directory,
                     self.configuration.directory):
            shutil.rmtree(path, ignore_errors=True)


def _answers(url):
    try:
        return requests.get(url, timeout=5).status_code < 500
    except requests.RequestException:
        return False
