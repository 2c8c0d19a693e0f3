"""The adapter of Google Compute Engine."""

from zuul_nodes.drivers import Ability, Adapter, Resource
from zuul_nodes.drivers.gce.checks import makeChecks
from zuul_nodes.drivers.gce.urls import ARCHIVE, RAW, SNAPSHOT, canImport

DISK = 'disk'
OBJECT = 'object'


class GceAdapter(Adapter):
    """Calls a region of a project.

    Names of instances are unique in their zone.  The framework records that a
    zone has no capacity before it tries the next zone, so a repeated request
    for an instance is for the same zone.
    """

    abilities = frozenset({
        Ability.UNIQUE_NAMES, Ability.LIMITS, Ability.NEEDS, Ability.ZONES,
        Ability.IMAGES, Ability.IMPORT, Ability.COPY, Ability.DOWNLOAD,
        Ability.SNAPSHOTS, Ability.CONSOLE, Ability.RESOURCES})
    image_formats = (RAW, ARCHIVE, SNAPSHOT)
    resource_types = (DISK, OBJECT)
    list_interval = 2.0

    def start(self):
        try:
            # The import takes seconds, and the libraries are optional.
            from zuul_nodes.drivers.gce import images, instances
            from zuul_nodes.drivers.gce.client import Client
        except ImportError as error:
            raise Exception(
                f'[connection {self.connection.connection_name}]: the driver '
                f'"gce" needs Google\'s libraries ({error}); install them '
                'with "pip install zuul-nodes[gce]"') from error
        self.client = Client(self.connection)
        self.instances = instances.Instances(
            self.client, self.place['region'])
        self.images = images.Images(self.client)

    def stop(self):
        self.images.stop()
        self.client.end()

    def createInstance(self, spec):
        return self.instances.createInstance(spec)

    def listInstances(self):
        return self.instances.listInstances()

    def deleteInstance(self, instance_id):
        self.instances.deleteInstance(instance_id)

    def getLimits(self):
        return self.instances.quota.getLimits()

    def getNeeds(self, spec):
        return self.instances.quota.getNeeds(spec)

    def listZones(self):
        return self.instances.listZones()

    def uploadImage(self, spec, path):
        return self.images.uploadImage(spec, path)

    def canImport(self, spec, url):
        if not canImport(url, spec.format):
            return False
        if spec.format == SNAPSHOT or not (spec.md5 or spec.sha256):
            return True
        return self.images.isVerified(spec, url)

    def importImage(self, spec, url):
        return self.images.importImage(spec, url)

    def copyImage(self, spec, image_id, source):
        return self.images.copyImage(spec, image_id)

    def listImages(self):
        for image_id, tags in self.images.listImages():
            yield Resource('image', image_id, tags)

    def deleteImage(self, image_id):
        self.images.deleteImage(image_id)

    def downloadUrl(self, url, path):
        return self.images.downloadObject(url, path)

    def createSnapshot(self, instance_id, spec):
        return self.images.createSnapshot(spec, instance_id)

    def getChecks(self, spec):
        return makeChecks(self, spec)

    def getConsoleLog(self, instance_id):
        return self.instances.getConsole(instance_id)

    def listResources(self):
        for disk_id, tags in self.instances.listDisks():
            yield Resource(DISK, disk_id, tags)
        for name, tags in self.images.storage.listObjects():
            yield Resource(OBJECT, name, tags)

    def deleteResource(self, resource):
        if resource.type == DISK:
            self.instances.deleteDisk(resource.id)
        else:
            self.images.storage.deleteObject(resource.id)
