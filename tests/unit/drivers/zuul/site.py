"""A tenant with images, the scheduler of it, and what gets recorded."""

import logging
import threading
import types

from zuul.model import ImageBuildArtifact, ImageUpload, NodesetInfo
import zuul.scheduler
from zuul.zk import ZooKeeperClient
from zuul.zk.zkobject import ZKContext

from tests.unit.configloader.tenant import CONFIG, NODES, Tenant
from zuul_nodes import uploadboots
from zuul_nodes.drivers.zuul import records
from zuul_nodes.drivers.zuul.formats import KEPT

PIPELINES_FILE = (CONFIG, 'main', 'zuul.d/pipelines.yaml')
IMAGES_FILE = (NODES, 'main', 'zuul.d/images.yaml')
PROVIDERS_FILE = (NODES, 'main', 'zuul.d/providers.yaml')
JOBS_FILE = (NODES, 'main', 'zuul.d/jobs.yaml')

PIPELINES = '''
- pipeline:
    name: build
    manager: independent
    trigger:
      zuul:
        - event: image-build
    success:
      zuul:
        image-built: true

- pipeline:
    name: validate
    manager: independent
    trigger:
      zuul:
        - event: [image-validate]
    success:
      zuul:
        image-validated: true
    failure:
      zuul:
        image-validated: false

- pipeline:
    name: delete
    manager: independent
    trigger:
      zuul:
        - event: image-delete

- job:
    name: base
    parent: null
    run: base.yaml
'''
IMAGES = '''
- image: {name: debian, type: zuul}
- image: {name: fedora, type: zuul}
- image: {name: stock, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- label: {name: stock, image: stock, flavor: small}
'''
PROVIDERS = '''
- section:
    name: rack
    connection: rack
    images: [debian, stock]
    flavors: [small]
- provider:
    name: rack
    section: rack
    labels: [debian, stock]
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes: [{name: 192.0.2.1, label: debian}]
- provider:
    name: desk
    section: desk
    labels: [debian]
'''
JOBS = '''
- job:
    name: build-debian
    parent: base
    image-build-name: debian
- job:
    name: build-fedora
    parent: base
    image-build-name: fedora
- job:
    name: other
    parent: base
- project:
    build: &jobs
      jobs: [build-debian, build-fedora, other]
    validate: *jobs
    delete: *jobs
'''
FILES = {PIPELINES_FILE: PIPELINES, IMAGES_FILE: IMAGES,
         PROVIDERS_FILE: PROVIDERS, JOBS_FILE: JOBS}
DEBIAN = 'example.com%2Fnodes/debian'
FEDORA = 'example.com%2Fnodes/fedora'
RACK = 'example.com%2Fnodes/rack'
WHERE = ('example.com', 'nodes', 'main')
# Where an image is that a job has stored.
URL = 'https://example.com/debian.raw'


class ImageTenant(Tenant):
    def load(self):
        # Pipelines ask the scheduler for it.
        self.loader.scheduler.sql = None
        super().load()
        self.driver = self.connections.drivers['zuul']
        self.abide.tenants[self.tenant.name] = self.tenant


class Scheduler:
    """What of a scheduler has to do with records of images."""

    def __init__(self, config, loaded):
        self.config = config
        self.abide = loaded.abide
        self.local_layout_state = {}
        self.connections = loaded.connections
        self.stop_event = threading.Event()
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        self.publish(loaded)
        for provider in loaded.layout.providers.values():
            provider._set(zk_client=self.zk_client)

    def createZKContext(self, lock, log):
        return ZKContext(self.zk_client, lock, self.stop_event, log)

    def publish(self, loaded, name='tenant'):
        """Tell others of the layout of a tenant.

        :param str name: what the tenant is called from now on.
        """
        loaded.tenant.name = name
        self.local_layout_state[name] = types.SimpleNamespace(
            uuid=loaded.layout.uuid)
        loaded.driver.registerScheduler(self)
        loaded.driver.reconfigure(loaded.tenant)

    log = logging.getLogger('zuul.Scheduler')
    validateImageUpload = zuul.scheduler.Scheduler.validateImageUpload


def makeArtifact(name='debian', url=URL, **metadata):
    """
    :param metadata: besides type and format, or in place of them.
    :return: what a job returns of an image.
    """
    return {'name': name, 'url': url,
            'metadata': {'type': 'zuul_image', 'format': 'raw'} | metadata}


def getJob(item, name='build-debian'):
    return next(job for job in item.getJobs() if job.name == name)


def getBuild(item, name='build-debian'):
    return item.current_build_set.getBuild(getJob(item, name))


class Site:
    """A scheduler with a tenant, and what is recorded of images."""

    def __init__(self, loaded, scheduler, enqueue):
        self.loaded = loaded
        self.scheduler = scheduler
        self.enqueue = enqueue

    def needFormats(self, *formats, name=DEBIAN):
        """Let providers need an image in more formats, as when a change adds
        such providers."""
        layout = self.loaded.layout
        needed = getattr(layout, KEPT, {DEBIAN: {'raw'}})
        setattr(layout, KEPT, needed | {
            name: needed.get(name, set()).union(formats)})

    def makeItem(self, *artifacts, **kwargs):
        item = self.enqueue(self.loaded, 'build', **kwargs)
        self.setArtifacts(getBuild(item), *artifacts)
        return item

    def setArtifacts(self, build, *artifacts):
        build._set(_result_data={'zuul': {'artifacts': list(artifacts)}})

    def report(self, item, action='success'):
        reporter, = getattr(item.manager.pipeline, f'{action}_actions')
        assert not reporter.report(item)

    def context(self):
        return self.scheduler.createZKContext(None, records.log)

    def read(self, record_class, folder):
        client = self.scheduler.zk_client.client
        path = f'{record_class.ROOT}/{folder}'
        if not client.exists(path):
            return []
        with self.context() as context:
            return sorted(
                (record_class.fromZK(context, f'{path}/{name}')
                 for name in client.get_children(path)),
                key=lambda record: (record.canonical_name, record.uuid))

    @property
    def artifacts(self):
        return self.read(ImageBuildArtifact, ImageBuildArtifact.IMAGES_PATH)

    @property
    def uploads(self):
        return self.read(ImageUpload, ImageUpload.UPLOADS_PATH)

    def addUpload(self, **kwargs):
        with self.context() as context:
            return ImageUpload.new(context, **{
                'uuid': 'upload', 'canonical_name': DEBIAN, 'timestamp': 1,
                '_state': 'ready'} | kwargs)

    def makeValidation(self, upload='upload', booted='upload'):
        """
        :param str booted: the upload that the node of the job was made of.
        """
        item = self.enqueue(
            self.loaded, 'validate', self.loaded.driver.getImageValidateEvent(
                ['debian'], *WHERE, upload))
        item.current_build_set.nodeset_info[getJob(item).uuid] = (
            NodesetInfo(['node']))
        uploadboots.add(self.scheduler.zk_client.client, booted, ['node'])
        return item
