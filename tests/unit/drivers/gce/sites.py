"""A region of the emulated cloud, as the launcher has it."""

import pathlib

from tests.fixtures.layout import makeLayout
from zuul_nodes.drivers import ImageSpec
from zuul_nodes.drivers.gce import GceDriver

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'
LAYOUT = (EXAMPLES / 'gce.yaml').read_text()
TAGS = {'zuul_system_id': 'system', 'Some: tag': 'Groß, "and" more'}


def change(old, new):
    """:return: what a tenant writes, otherwise."""
    assert old in LAYOUT
    return LAYOUT.replace(old, new)


class Site:
    """
    :param GCE gce: the emulator.
    :param str text: what a tenant writes.
    :param options: of the connection.
    """

    def __init__(self, gce, text=LAYOUT, **options):
        self.gce = gce
        self.driver = GceDriver()
        self.connection = self.driver.getConnection('gce', {
            'driver': 'gce', 'project': gce.project, 'bucket': 'images',
            'api_endpoint': gce.url, 'storage_endpoint': gce.storage_url,
            **options})
        layout = makeLayout(text)
        config, = layout.provider_configs.values()
        self.provider = self.driver.getProvider(
            None, self.connection, 'tenant', config.canonical_name,
            config.flattenConfig(layout, {'gce': self.connection}), 'system')
        self.adapter = GceDriver.adapter_class(
            self.connection, region=self.provider.region)
        self.adapter.start()
        self.adapter.images.interval = 0.001
        self.adapter.images.storage.unit = gce.images.unit

    def end(self):
        self.adapter.stop()

    def makeSpec(self, uuid='0001', label='debian', zone='us-central1-a',
                 tags=None, **attributes):
        """
        :param str uuid: of the node.
        """
        return self.provider.makeSpec(
            self.provider.labels[label], name=f'np{uuid}', zone=zone,
            tags={**TAGS, 'zuul_node_uuid': uuid, **(tags or {})},
            **attributes)

    def makeImageSpec(self, upload_id='ab12', **attributes):
        return ImageSpec(**{
            'name': f'Debian_12-{upload_id}', 'upload_id': upload_id,
            'tags': {**TAGS, 'zuul_upload_uuid': upload_id}, 'format': 'raw',
            'image': self.provider.images['built'], 'timeout': 10,
            **attributes})

    def list(self):
        """:return: id -> Instance."""
        return {instance.id: instance
                for instance in self.adapter.listInstances()}

    def runUntil(self, predicate):
        """
        :return: id -> Instance, as soon as that is so.
        """
        for _ in range(10):
            instances = self.list()
            if predicate(instances):
                return instances
        raise AssertionError(instances)

    def create(self, *args, **kwargs):
        """:return: the instance when it is ready."""
        spec = self.makeSpec(*args, **kwargs)
        instance_id = self.adapter.createInstance(spec).id
        return self.runUntil(lambda instances: instances[
            instance_id].ready)[instance_id]
