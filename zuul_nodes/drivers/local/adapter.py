"""The adapter that treats the machine as a cloud.

Threads do the work for nodes, because it takes long.  The files on the machine
show the progress, so any launcher of the machine continues the work of one
that was killed.
"""

from concurrent.futures import ThreadPoolExecutor
import logging
import pathlib
import threading
from urllib.parse import unquote, urlsplit

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    Check,
    DriverError,
    Instance,
    PermanentError,
    Resource,
    State,
    TemporaryError,
    getUser,
)
from zuul_nodes.drivers.local.cgroups import Cgroups
from zuul_nodes.drivers.local.images import Images
from zuul_nodes.drivers.local.machines import ADDRESS, Machines
from zuul_nodes.drivers.local.sandbox import Sandbox
from zuul_nodes.drivers.local.sources import openSource
from zuul_nodes.drivers.local.users import Users

KEY_TYPES = ('ssh-', 'ecdsa-', 'sk-')
# The value of "network" for the network of the machine.
HOST_NETWORK = 'host'
# Number of file systems that are copied or deleted at the same time.
WORKERS = 4
# Prefix of the URLs of snapshots in artifacts.
SNAPSHOT = 'local-snapshot:'
# Image format of these artifacts.
SNAPSHOT_FORMAT = 'snapshot'
# Prefix of the names of snapshots, which no other image has.
SNAPSHOT_NAME = 'snapshot-'
ERRORS = {each.failure: each
          for each in (DriverError, TemporaryError, PermanentError)}


class LocalAdapter(Adapter):
    """Creates nodes and images on the machine.

    :ivar Images images: the store of images.
    :ivar Machines machines: the nodes.
    :ivar dict tasks: (function, name of a node) -> its Future.
    """

    log = logging.getLogger('zuul.nodes.drivers.local')
    abilities = frozenset({
        Ability.UNIQUE_NAMES, Ability.LIMITS, Ability.NEEDS, Ability.IMAGES,
        Ability.IMPORT, Ability.SNAPSHOTS, Ability.CONSOLE})
    image_formats = ('tar', 'tar.gz', 'tar.xz', 'tar.zst', SNAPSHOT_FORMAT)
    # A list only reads a directory.
    list_interval = 0.1

    def start(self):
        users = Users(self.connection.user)
        has_network = self.connection.network == HOST_NETWORK
        if not has_network:
            try:
                with users.claim() as user:
                    Sandbox(user).checkIsolation()
            except DriverError as error:
                raise type(error)(
                    f'The connection "{self.connection.connection_name}" has '
                    f'network={self.connection.network} in zuul.conf. '
                    f'{error}') from None
        directory = pathlib.Path(self.connection.directory)
        self.images = Images(directory / 'images', users,
                             self.connection.driver.image_size_limit)
        self.machines = Machines(
            directory / 'nodes', users, self.connection.cgroup and Cgroups(
                self.connection.cgroup, self.connection.max_pids),
            has_network)
        self._executor = ThreadPoolExecutor(
            WORKERS, f'local-{self.connection.connection_name}')
        self.tasks = {}
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self):
        with self._lock:
            self._stopped = True
        # Running tasks may take as long as a copy.
        self._executor.shutdown(wait=False, cancel_futures=True)

    def createInstance(self, spec):
        self.machines.addNode(spec.name, spec.tags, spec.image.username,
                              self._getSource(spec), _getLimits(spec.flavor))
        self._perform(self._launch, spec.name)
        return Instance(spec.name, State.BUILDING, spec.tags)

    def listInstances(self):
        for name in self.machines.entries.names():
            data = self.machines.getNode(name)
            if data is None:
                continue
            state = State.READY
            error, message = data.get('failure', (None, None))
            if error:
                state = State.FAILED
            elif not data.get('ready'):
                state = State.BUILDING
                # The launcher that started the node may have been killed.
                self._perform(self._launch, name)
            yield Instance(
                name, state, data['metadata'], ADDRESS,
                message=message, error=ERRORS.get(error),
                needs={'instances': 1, **data.get('limits', {})},
                private_ipv4=ADDRESS, username=data['username'],
                connection_type='ssh', connection_port=data.get('port'),
                host_keys=data.get('host_keys', []))

    def deleteInstance(self, instance_id):
        if self.machines.getNode(instance_id) is None:
            return
        with self._lock:
            making = self.tasks.get((self._launch, instance_id))
        if making:
            making.cancel()
        self._perform(self._terminate, instance_id)

    def _perform(self, function, name):
        """Run a function for a node in a thread, unless it is running.

        If this launcher is stopped, another one does it.  The files of the
        node contain the result.
        """
        key = function, name
        with self._lock:
            if key in self.tasks or self._stopped:
                return
            task = self.tasks[key] = self._executor.submit(function, name)
        task.add_done_callback(lambda task: self._end(key, task))

    def _end(self, key, task):
        with self._lock:
            del self.tasks[key]
        if not task.cancelled() and task.exception():
            self.log.error(
                'Unable to %s the node %s: %s', key[0].__name__.strip('_'),
                key[1], task.exception())

    def _launch(self, name):
        self.machines.makeNode(name, self._fill, self.getAuthorizedKeys)

    def _terminate(self, name):
        self.machines.removeNode(name)

    def _getSource(self, spec):
        """:return: the source of a file system, a dict with ``image`` or
            ``path``."""
        if spec.image_id:
            return {'image': spec.image_id}
        path = spec.image.image_path
        if not self._isImport(path):
            raise PermanentError(
                f'The image "{spec.image.name}" has the image-path '
                f'{spec.image.image_path}, which does not exist or is not in '
                'the import_directories of the connection '
                f'"{self.connection.connection_name}"')
        return {'path': path}

    def checkAccess(self):
        # There are no credentials, and a list would continue the launch of
        # nodes.
        return ''

    def getChecks(self, spec):
        connection = f'connection {self.connection.connection_name}'
        yield Check('key', 'authorized_keys', connection,
                    lambda: _getError(self.getAuthorizedKeys))
        yield Check('path', self.connection.directory, connection,
                    lambda: _getError(self.machines.entries.checkDirectory))
        if path := getattr(spec.image, 'image_path', None):
            yield Check('path', path, getUser(spec.label, 'image'),
                        lambda: _getError(self._getSource, spec))

    def _fill(self, source, *args):
        if path := source.get('path'):
            self.images.unpackTo(
                path, self.connection.import_directories, *args)
        else:
            self.images.copyTo(source['image'], *args)

    def getAuthorizedKeys(self):
        """
        :return: public keys, one in a line.
        :raises DriverError: they cannot be read.
        """
        said = self.connection.authorized_keys
        if said.startswith(KEY_TYPES):
            return said
        try:
            return pathlib.Path(said).read_text()
        except OSError as error:
            raise DriverError(
                'Unable to read authorized_keys of the connection '
                f'"{self.connection.connection_name}": {error}') from None

    def _isImport(self, path):
        """
        :param str path: of an image that a tenant requests.
        :return: whether it exists and the connection allows it.  It may be
            another file when it is used.
        """
        try:
            with openSource(path, self.connection.import_directories):
                return True
        except DriverError:
            return False

    def getLimits(self):
        limits = {'instances': self.connection.max_instances,
                  'cores': self.connection.max_cores,
                  'ram': self.connection.max_ram}
        return {resource: limit for resource, limit in limits.items()
                if limit is not None}

    def getNeeds(self, spec):
        return {'instances': 1, **_getLimits(spec.flavor)}

    def uploadImage(self, spec, path):
        return self.images.addImage(
            path, spec.upload_id, spec.tags, spec.timeout)

    def canImport(self, spec, url):
        return bool(self._findArtifact(url, spec.format))

    def importImage(self, spec, url):
        found = self._findArtifact(url, spec.format)
        if not found:
            raise PermanentError(f'{url} does not exist any more')
        path, within = found
        return self.images.addImage(
            path, spec.upload_id, spec.tags, spec.timeout,
            (('md5', spec.md5), ('sha256', spec.sha256)), within)

    def _findArtifact(self, url, image_format):
        """:return: the path of the artifact, and the directories that must
            contain it, or None for our own store; None without an
            artifact."""
        if url.startswith(SNAPSHOT):
            name = url.removeprefix(SNAPSHOT)
            # Other images may belong to other tenants.
            is_snapshot = (image_format == SNAPSHOT_FORMAT
                           and name.startswith(SNAPSHOT_NAME)
                           and self.images.exists(name))
            return (self.images.getRoot(name), None) if is_snapshot else None
        parts = urlsplit(url)
        if parts.scheme != 'file' or parts.netloc not in ('', 'localhost'):
            return None
        path = unquote(parts.path)
        return (path, self.connection.import_directories) if (
            self._isImport(path)) else None

    def listImages(self):
        entries = self.images.entries
        for name in entries.names():
            if data := entries.read(name):
                yield Resource('image', name, data['metadata'])

    def deleteImage(self, image_id):
        self.images.removeImage(image_id)

    def createSnapshot(self, instance_id, spec):
        name = f'{SNAPSHOT_NAME}{spec.upload_id}'
        if not self.images.exists(name):
            self.images.addCopy(
                self.machines.getRoot(instance_id), name, spec.tags,
                spec.timeout)
        return SNAPSHOT + name

    def getConsoleLog(self, instance_id):
        return self.machines.readLog(instance_id)


def _getLimits(flavor):
    """:return: ``cores`` and ``ram`` of a flavor, a dict."""
    limits = {'cores': flavor.cores, 'ram': flavor.ram}
    return {resource: limit for resource, limit in limits.items() if limit}


def _getError(function, *args):
    """:return: the error of a function, or an empty string."""
    try:
        function(*args)
    except (DriverError, OSError) as error:
        return str(error)
    return ''
