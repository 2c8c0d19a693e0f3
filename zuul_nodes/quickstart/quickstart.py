"""A complete Zuul on this machine, piece by piece.

The quickstart uses only loopback.  It writes only to one directory and to two
temporary directories, which stop() removes (see state.py).  stop() ends all
processes.
"""

import pathlib
import secrets
import sys

from zuul_nodes.quickstart import leftovers, ports, preflight
from zuul_nodes.quickstart.ansible import Ansible
from zuul_nodes.quickstart.api import API
from zuul_nodes.quickstart.builds import Builds
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.config import (
    GUEST,
    TENANT,
    Settings,
    writeClientConf,
    writeConfig,
    writeZuulConf,
)
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.images import Images
from zuul_nodes.quickstart.repositories import (
    DEMO_REPOSITORY,
    Repositories,
    gitEnvironment,
)
from zuul_nodes.quickstart.services import Services
from zuul_nodes.quickstart.sshd import SSHD, USER, SSHKeys
from zuul_nodes.quickstart.state import State
from zuul_nodes.quickstart.steps import Steps
from zuul_nodes.quickstart.weblogs import LogServer
from zuul_nodes.quickstart.zookeeper import ZooKeeper

JOB = 'hello'
DEFAULT_WEB_PORT = 9000

START_TIMEOUT = 120


class Quickstart:
    """A context manager that always calls stop() in the end.

    ``prepare()`` and ``start()`` together lead to a Zuul that is ready for
    work.  A test may instead call the methods that start() calls, in another
    order, start further processes with ``services.start()``, and stop or kill
    any of ``services.processes``.

    :param directory: the directory for the state.
    :param int web_port: the port of zuul-web; by default 9000, or another
        port if that is in use.
    :param int schedulers: number of schedulers to run.
    :param bool embedded: whether the schedulers run a launcher.
    :param bool images: whether Zuul builds an image and launches the demo's
        nodes from it.
    :param Steps steps: informed of the progress.
    :ivar Services services: the processes; set by prepare().
    :ivar API api: Zuul's REST API; set by prepare(), too.
    :ivar Builds builds: waits for builds; set by prepare(), too.
    :ivar Images images: waits for images; set by prepare(), too.
    :ivar Images guest_images: waits for images of the other tenant.
    :ivar pathlib.Path zuul_conf: the configuration of the first scheduler
        and all other services.
    """

    def __init__(self, directory, web_port=None, schedulers=1, embedded=True,
                 images=False, steps=None):
        self.state = State(directory)
        self.wanted_web_port = web_port
        self.schedulers = [f'scheduler{number or ""}' for number in
                           (0, *range(2, schedulers + 1))]
        self.embedded = embedded
        self.with_images = images
        self.steps = steps or Steps()
        self.services = None
        self.api = None
        self.builds = None
        self.images = None
        self.guest_images = None
        self.settings = None
        self.log_server = None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.stop()

    @property
    def zuul_conf(self):
        return self._zuulConf('')

    def _zuulConf(self, instance):
        return self.state.run / f'zuul{instance}.conf'

    @property
    def client_conf(self):
        """The configuration of zuul-client."""
        return self.state.run / 'client.conf'

    @property
    def nodes_page(self):
        """The URL of the page that zuul-nodes adds to zuul-web."""
        return f'{self.settings.web_url}/zuul-nodes/t/{TENANT}/'

    def getPlaces(self):
        """:return: name -> URL or path of what people need to work with it,
            all of them strings."""
        return {'web_url': self.settings.web_url,
                'web_ui': f'{self.settings.web_url}/t/{TENANT}/status',
                'nodes_page': self.nodes_page,
                'zuul_conf': str(self.zuul_conf),
                'client_conf': str(self.client_conf),
                'checkouts': str(self.repositories.checkouts),
                'user_key': str(self.settings.user_key),
                'logs': str(self.state.logs)}

    # Preparation

    def prepare(self):
        """Check the machine and create everything except processes.

        :raises UserError: a requirement is missing; nothing was changed.
        :raises Failure: something could not be created.
        """
        with self.steps.step('Check this machine'):
            preflight.check(self.wanted_web_port)
            self.state.claim()
            self.services = Services(self.state.logs, gitEnvironment() | {
                leftovers.VARIABLE: self.state.mark})
        with self.steps.step('Make certificates and keys'):
            certificates = Certificates(self.state.certificates)
            keys = SSHKeys(self.state.keys)
        with self.steps.step('Install Ansible for the jobs'):
            Ansible(self.state.ansible, self.services).install()
        with self.steps.step('Make git repositories and zuul.conf'):
            self._configure(certificates, keys)

    def _configure(self, certificates, keys):
        run = self.state.run
        zookeeper_port, node_port, finger_port = ports.freePorts(3)
        self.zookeeper = ZooKeeper(
            run / 'zookeeper', certificates, zookeeper_port,
            self.services.environment, self.services.logFile('zookeeper'))
        self.repositories = Repositories(
            run / 'repositories', run / 'checkouts')
        self.repositories.create(
            {'node_port': node_port, 'node_user': USER}, self.with_images)
        weblogs = run / 'weblogs'
        weblogs.mkdir()
        self.log_server = LogServer(weblogs)
        self.log_server.start()
        self.settings = Settings(
            run=run, sockets=self.state.sockets, nodes=self.state.nodes,
            user=self.state.user, weblogs=weblogs,
            weblogs_url=self.log_server.url,
            ansible=self.state.ansible, certificates=certificates,
            zookeeper_hosts=self.zookeeper.hosts, user_key=keys.user_key,
            authorized_keys=keys.authorized_keys,
            git_url=self.repositories.url,
            web_port=(self.wanted_web_port
                      or ports.freePort(DEFAULT_WEB_PORT)),
            finger_port=finger_port,
            keystore_password=secrets.token_hex(32),
            auth_secret=secrets.token_hex(32), embedded=self.embedded,
            images=self.with_images)
        self.node = SSHD(
            self.state.first_node, self.state.user, keys, node_port,
            self.services.environment, self.services.logFile('sshd'),
            self.settings.image_directory)
        writeConfig(self.settings)
        writeZuulConf(self.zuul_conf, self.settings)
        writeClientConf(self.client_conf, self.settings)
        self.state.writePlaces(self.getPlaces())
        self.api = API(self.settings.web_url, TENANT)
        self.builds = Builds(self.api, self.services, weblogs)
        self.images = Images(self.api, self.services)
        self.guest_images = Images(
            API(self.settings.web_url, GUEST), self.services)

    # Start

    def start(self):
        """Start everything, and wait until a commit can be pushed."""
        with self.steps.step('Start ZooKeeper'):
            self.startZooKeeper()
        with self.steps.step('Start the node'):
            self.startNode()
        with self.steps.step('Start Zuul'):
            self.startZuul()
            self.waitForZuul()
        with self.steps.step('Wait for the node'):
            self.waitForNode()

    def startZooKeeper(self):
        self.services.processes['zookeeper'] = self.zookeeper.process
        self.zookeeper.start()

    def startNode(self):
        self.services.processes['sshd'] = self.node.process
        self.node.start()

    def startZuul(self):
        """Start Zuul's services without waiting for them."""
        for name in self.schedulers:
            self.startScheduler(name)
        self.services.start('executor', [
            sys.executable, '-m', 'zuul_nodes.quickstart.loopback',
            'zuul-executor', '-f', '-d', '-c', self.zuul_conf])
        self.services.start('web', [
            self.program('zuul-web'), '-f', '-d', '-c', self.zuul_conf])

    def startScheduler(self, name='scheduler'):
        """:param str name: "scheduler", "scheduler2", and so on."""
        instance = name.removeprefix('scheduler')
        zuul_conf = self._zuulConf(instance)
        if instance:
            writeZuulConf(zuul_conf, self.settings, instance)
        self.services.start(name, [
            self.program('zuul-scheduler'), '-f', '-d', '-c', zuul_conf])

    @staticmethod
    def program(name):
        """:return: the path of a program in our Python environment."""
        return pathlib.Path(sys.prefix) / 'bin' / name

    # Waits

    def waitForZuul(self):
        """Wait until all services run, the tenant is loaded without errors,
        and a scheduler watches the git repositories."""
        self._waitFor(lambda: self.api.get('info'),
                      'zuul-web does not answer', 'web')
        self.steps.note(f'zuul-web answers on {self.settings.web_url}')
        self.waitForComponents('scheduler', len(self.schedulers))
        self.waitForComponents('executor', 1, 'executor')
        self._waitFor(lambda: TENANT in self.api.tenants(),
                      f'the tenant {TENANT} is not loaded')
        self._checkConfig()
        if self.embedded:
            self.waitForComponents('launcher', len(self.schedulers))
        # A commit pushed before the first poll is not noticed.
        self._waitFor(self._repositoryWatched,
                      'no scheduler watches the git repositories')

    def _waitFor(self, predicate, what, name='scheduler'):
        return self.services.waitFor(predicate, what, START_TIMEOUT, name)

    def waitForComponents(self, kind, count, name='scheduler'):
        """Wait for running components.

        :param str kind: such as "launcher".
        :param int count: the number of components.
        :param str name: the process whose log is shown after a time-out.
        """
        def running():
            components = self.api.components().get(kind, [])
            return count <= sum(component['state'] == 'running'
                                for component in components)
        self._waitFor(running, f'the {kind} is not running', name)
        self.steps.note(f'{kind} is running')

    def _checkConfig(self):
        # In a list, so that an empty list of errors is a true result.
        errors, = self._waitFor(lambda: [self.api.configErrors()],
                                'no answer about the configuration', 'web')
        if errors:
            # The last line of the long message contains the error.
            reason = errors[0]['error'].strip().splitlines()[-1]
            raise Failure(f'the configuration has errors: {reason}',
                          self.services.logFile('scheduler'))

    def _repositoryWatched(self):
        # Only the scheduler that won the election of watchers polls.
        return any(self.services.processes[name].logged(
            rf'Read \d+ refs for project {DEMO_REPOSITORY}$')
            for name in self.schedulers)

    def waitForNode(self):
        """Wait until a node is ready."""
        self._waitFor(lambda: any(node['state'] == 'ready'
                                  for node in self.api.nodes()),
                      'no node is ready')

    # Work

    def push(self, message='Say hello', repository=DEMO_REPOSITORY):
        """Push a commit.

        :return: the commit's hash.
        """
        return self.repositories.push(message, repository)

    def waitForBuild(self, revision, job=JOB):
        """Wait for the end of the build that a push triggered.

        :param str revision: the commit's hash.
        :return: the build, as the REST API describes it.
        :raises Failure: the result is not SUCCESS.
        """
        self.builds.waitForStart(revision, job)
        self.steps.note(f'{job} is running')
        return self.builds.waitForEnd(revision, job)

    def watch(self):
        """Keep all processes running, forever.

        :raises Failure: a process ends again and again.
        """
        self.services.keepRunning(self.steps.note)

    @property
    def demo_checkout(self):
        """The checkout for further commits and pushes."""
        return self.repositories.checkouts / DEMO_REPOSITORY

    def urls(self, build):
        """:param build: from waitForBuild().
        :return: name -> URL for a browser."""
        web = self.settings.web_url
        return {'Web UI': f'{web}/t/{TENANT}/status',
                'Nodes of the tenant': self.nodes_page,
                'API': f'{web}/api/tenant/{TENANT}/builds',
                'Build': f'{web}/t/{TENANT}/build/{build["uuid"]}',
                'Log': f'{build["log_url"]}job-output.txt'}

    # Stop

    def stop(self):
        """Stop everything and release the directory.  May be called at any
        time, and more than once."""
        if self.services and self.services.processes:
            with self.steps.step('Stop everything'):
                # Zuul's services cannot shut down without ZooKeeper.
                self.services.stop('zookeeper', self.steps.note)
        # Includes processes of a start that was interrupted.
        self.state.endProcesses()
        if self.log_server:
            self.log_server.stop()
        self.state.release()
