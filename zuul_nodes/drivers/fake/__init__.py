"""Driver for a fake cloud: for trials, tests and load tests.

Its instances are rows in a table.  Users of the driver provide the server at
the address of the instances.
"""

import voluptuous as vs

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    Check,
    Driver,
    Found,
    Instance,
    Nullable,
    Optional,
    PermanentError,
    QuotaError,
    Resource,
    State,
    getUser,
)
from zuul_nodes.drivers.fake.cloud import Cloud

SECONDS = vs.All(vs.Coerce(float), vs.Range(min=0))
NUMBER = vs.All(vs.Coerce(int), vs.Range(min=0))


class FakeAdapter(Adapter):
    abilities = frozenset({
        Ability.UNIQUE_NAMES, Ability.LIMITS, Ability.NEEDS, Ability.ZONES,
        Ability.IMAGES, Ability.IMPORT, Ability.COPY, Ability.SNAPSHOTS,
        Ability.CONSOLE})
    list_interval = 0.05

    def start(self):
        options = self.connection
        self.cloud = Cloud(
            options.path, options.create_delay, options.delete_delay,
            options.call_delay, options.failure_rate)

    def stop(self):
        self.cloud.close()

    def createInstance(self, spec):
        if spec.image_id is None and spec.image.image_id == 'none':
            raise PermanentError('There is no image "none"')
        needs = self.getNeeds(spec)
        if lacking := self.cloud.addInstance(
                spec.name, spec.tags, spec.zone, needs, self.getLimits()):
            raise QuotaError(f'The limit of {lacking} is exhausted')
        return Instance(spec.name, State.BUILDING, spec.tags)

    def listInstances(self):
        for name, tags, zone, needs, is_ready in self.cloud.listInstances():
            yield Instance(
                name, State.READY if is_ready else State.BUILDING, tags,
                needs=needs, az=zone, address=self.connection.address,
                connection_port=self.connection.port)

    def deleteInstance(self, instance_id):
        self.cloud.deleteInstance(instance_id)

    def getLimits(self):
        limits = {'instances': self.connection.instances,
                  'cores': self.connection.cores}
        return {resource: limit for resource, limit in limits.items()
                if limit is not None}

    def getNeeds(self, spec):
        return {'instances': 1, 'cores': spec.flavor.cores}

    def listZones(self):
        return [zone.strip() for zone in self.connection.zones.split(',')]

    def uploadImage(self, spec, path):
        self.cloud.addImage(spec.upload_id, spec.tags)
        return spec.upload_id

    def importImage(self, spec, url):
        return self.uploadImage(spec, url)

    def copyImage(self, spec, image_id, source):
        return self.uploadImage(spec, image_id)

    def listImages(self):
        for image_id, tags in self.cloud.listImages().items():
            yield Resource('image', image_id, tags)

    def deleteImage(self, image_id):
        self.cloud.deleteImage(image_id)

    def createSnapshot(self, instance_id, spec):
        return f'fake:{self.uploadImage(spec, instance_id)}'

    def getChecks(self, spec):
        if image_id := getattr(spec.image, 'image_id', None):
            yield Check('image', image_id, getUser(spec.label, 'image'),
                        lambda: 'There is no such image'
                        if image_id == 'none' else Found(image_id))

    def getConsoleLog(self, instance_id):
        return f'{instance_id} login: '


class FakeDriver(Driver):
    """The attributes of nodes in the fake cloud."""

    name = 'fake'
    adapter_class = FakeAdapter
    connection_attributes = {
        Optional(
            'path', default=':memory:',
            doc="""The file with the state of the cloud.  By default, each
            process has its own cloud while it runs.""",
        ): str,
        Optional('address', default='127.0.0.1',
                 doc='The address of all instances.'): str,
        Optional('port', default='22',
                 doc='The SSH port of all instances.'): NUMBER,
        Optional('create_delay', default='0',
                 doc='Seconds until an instance is ready.'): SECONDS,
        Optional('delete_delay', default='0',
                 doc='Seconds until an instance is deleted.'): SECONDS,
        Optional('call_delay', default='0',
                 doc='Duration of each call in seconds.'): SECONDS,
        Optional(
            'failure_rate', default='0',
            doc="""Share of calls that fail, 0 to 1; half of them after
            the cloud has acted.""",
        ): vs.All(vs.Coerce(float), vs.Range(0, 1)),
        Optional('instances',
                 doc='Maximum number of instances.'): Nullable(NUMBER),
        Optional('cores',
                 doc='Maximum number of cores of all instances.',
                 ): Nullable(NUMBER),
        Optional('zones', default='a, b',
                 doc='Names of zones, separated by commas.'): str,
    }
    flavor_attributes = {
        Optional('cores', default=1,
                 doc='Number of cores of a node.'): NUMBER,
    }
    cloud_image_attributes = {
        Optional('image-id', default='any',
                 doc='The id of an image; all exist except ``none``.',
                 ): str,
    }
