"""The machine, as all providers of a connection share it."""

from concurrent.futures import ThreadPoolExecutor
import functools
import logging
import threading
from urllib.parse import unquote, urlsplit

from zuul.provider import BaseImageJob, BaseProviderEndpoint

from zuul_nodes.drivers.local.images import Images
from zuul_nodes.drivers.local.machines import Machines
from zuul_nodes.drivers.local.model import LocalInstance, LocalResource
from zuul_nodes.drivers.local.sandbox import LocalError, Sandbox

# How many file systems are copied or removed at a time.
WORKERS = 4
# What snapshots are called in artifacts.
SNAPSHOT = 'local-snapshot:'


class LocalEndpoint(BaseProviderEndpoint):
    """
    :ivar Images images: the store of images.
    :ivar Machines machines: that are nodes.
    """

    log = logging.getLogger('zuul.LocalEndpoint')

    def startEndpoint(self):
        sandbox = Sandbox(self.connection.getUser())
        directory = self.connection.directory
        self.images = Images(directory / 'images', sandbox)
        self.machines = Machines(directory / 'nodes', sandbox)
        self.executor = ThreadPoolExecutor(
            WORKERS, f'local-{self.connection.connection_name}')
        # Those that were not asked for their result, by what they do.
        self._tasks = {}
        self._lock = threading.Lock()

    def stopEndpoint(self):
        self.executor.shutdown(cancel_futures=True)

    def perform(self, name, function, *args):
        """Do what takes its time, in a thread.

        Whoever asks for the same thing of the same machine while it is
        under way, or has not been told of its end, gets that one.

        :param str name: of a machine.
        :return: whether it is done.
        :raises Exception: what the function has raised.
        """
        with self._lock:
            key = name, function.__name__
            if key not in self._tasks:
                self._tasks[key] = self.executor.submit(function, *args)
            if not self._tasks[key].done():
                return False
            future = self._tasks.pop(key)
        future.result()
        return True

    def isIdle(self, name):
        """Withdraw what is to be done for a machine.

        :return: whether nothing is under way any more.
        """
        with self._lock:
            for key in [key for key in self._tasks if key[0] == name]:
                if self._tasks[key].cancel() or self._tasks[key].done():
                    del self._tasks[key]
            return not any(key[0] == name for key in self._tasks)

    def build(self, name, image, image_external_id):
        """Make what a machine needs to start.

        :param str name: of the machine.
        :param LocalImage image: of a provider.
        :param str image_external_id: of an upload, if there is one.
        """
        def fill(target):
            if image_external_id:
                self.images.copyTo(image_external_id, target, name)
                return
            path = self.connection.findImport(image.image_path)
            if path is None:
                raise LocalError(
                    f'The image "{image.name}" has the image-path '
                    f'{image.image_path}, which is not there, or not in '
                    'import_directories of the connection '
                    f'"{self.connection.connection_name}"', 'permanent')
            if path.is_dir():
                self.images.unpackTo(path, target, name)
            else:
                self.images.copyTo(self.images.addPath(path), target, name)

        self.machines.build(
            name, fill, self.connection.getAuthorizedKeys())

    def snapshot(self, name, image_name, tags):
        """Make an image of a machine as it is now."""
        self.images.addCopy(
            self.machines.getRoot(name), image_name, tags)

    def getImportJob(self, url, image, metadata, sha256):
        """:return: what imports an image from this machine, or None if
            it can't be had by that URL."""
        make = functools.partial(
            self.images.add, sha256=sha256,
            **_getImageOptions(image, metadata))
        if url.startswith(SNAPSHOT):
            name = url.removeprefix(SNAPSHOT)
            if not self.images.exists(name):
                return None
            return LocalImageJob(make, self.images.getRoot(name))
        parts = urlsplit(url)
        if parts.scheme != 'file' or parts.netloc not in ('', 'localhost'):
            return None
        path = self.connection.findImport(unquote(parts.path))
        return path and LocalImageJob(make, path)

    def getUploadJob(self, image, metadata):
        """:return: what makes an image of a downloaded file."""
        return LocalImageJob(functools.partial(
            self.images.add, **_getImageOptions(image, metadata)))

    def refreshQuotaLimits(self, update):
        # They are known without a question.
        return False

    def listInstances(self):
        for name in self.machines.entries.names():
            if data := self.machines.get(name):
                yield LocalInstance(name, data)

    def listResources(self, providers):
        types = LocalResource.ResourceType
        for kind, entries in ((types.INSTANCE, self.machines.entries),
                              (types.IMAGE, self.images.entries)):
            for name in entries.names():
                if data := entries.read(name):
                    yield LocalResource(data['metadata'], kind, name)

    def getResourceTypes(self):
        return LocalResource.ResourceType

    def deleteResource(self, resource):
        if resource.type == LocalResource.ResourceType.IMAGE:
            self.deleteImage(resource.name)
        else:
            self.machines.remove(resource.name)

    def deleteImage(self, name):
        if name:
            self.images.remove(name)


class LocalImageJob(BaseImageJob):
    """
    :param make: makes an image of what :meth:`run` gets.
    :param args: what it gets besides.
    """

    def __init__(self, make, *args):
        super().__init__()
        self.make = make
        self.args = args

    def run(self, *args):
        """
        :param args: the path of the file, if it was downloaded.
        :return: the external id of the image.
        """
        return self.make(*self.args, *args)


def _getImageOptions(image, metadata):
    return {'name': metadata['zuul_upload_uuid'], 'metadata': metadata,
            'timeout': image.import_timeout}
