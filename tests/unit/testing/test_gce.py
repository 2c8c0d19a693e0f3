"""The driver of Google Compute Engine, at an emulated cloud."""

import gzip
import io
import tarfile

import pytest

from tests.fixtures.gce import GCE
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.drivers.gce.adapter import GceAdapter
from zuul_nodes.testing import DriverConformance
from zuul_nodes.testing import images as scenarios

CONFIGURATION = '''
- image: {name: image, type: cloud}
- image: {name: built, type: zuul}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- label: {name: built, image: built, flavor: small}
- section:
    name: section
    connection: cloud
    region: us-central1
    images:
      - name: image
        image-family: debian-12
        image-project: debian-cloud
      - built
    flavors: [{name: small, machine-type: e2-standard-2}]
- provider:
    name: provider
    section: section
    images: [image, built]
    labels:
      - {name: label, host-key-checking: false}
      - {name: built, host-key-checking: false}
'''


class HurriedAdapter(GceAdapter):
    """In whose cloud all goes quickly, and disks are small."""

    list_interval = 0.05

    def start(self):
        super().start()
        from zuul_nodes.drivers.gce import archive, images
        archive.UNIT = 512
        images.INTERVAL = 0.02


class HurriedDriver(GceDriver):
    """As it is."""

    adapter_class = HurriedAdapter


class Cloud:
    """:param GCE gce: the emulator."""

    def __init__(self, gce, configuration):
        self.gce = gce
        self.configuration = configuration
        for name in ('images', 'artifacts'):
            gce.buckets.create(name, gce.project)
        gce.jobs.polls['disks.delete'] = 0
        self.connection = {
            'project': gce.project, 'bucket': 'images',
            'api_endpoint': gce.url, 'storage_endpoint': gce.storage_url}

    def list(self):
        with self.gce.lock:
            return [
                path for collection in (
                    self.gce.instances, self.gce.disks, self.gce.images)
                for path in collection.resources
                if path.startswith('projects/zuul/')
            ] + [f'{bucket}/{name}' for bucket, name in self.gce.objects.data
                 if bucket != 'artifacts']

    def addForeign(self):
        with self.gce.lock:
            self.gce.instances.add('foreign', {
                'status': 'RUNNING', 'machineType': self.gce.link(
                    'projects/zuul/zones/us-central1-a/machineTypes/'
                    'e2-standard-2'),
                'networkInterfaces': [], 'disks': [], 'labels': {},
                'scheduling': {'preemptible': False}},
                project='zuul', zone='us-central1-a')

    def setLimit(self, number):
        self.gce.quota.regional['CPUS'] = 2 * number

    def setSilent(self):
        self.gce.inject('GET', '.*', hangs=True, times=1000)


class Bucket:
    """Where artifacts are that Google can import.

    :param GCE gce: the emulator.
    """

    def __init__(self, gce):
        self.gce = gce

    def add(self, name, data):
        self.gce.objects.create('artifacts', name, gzip.compress(data))
        return f'gs://artifacts/{name}'

    def end(self):
        pass


@pytest.fixture
def content(monkeypatch):
    """Have the images of the kit be what can be imported."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode='w',
                      format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo('disk.raw')
        info.size = len(scenarios.CONTENT)
        tar.addfile(info, io.BytesIO(scenarios.CONTENT))
    monkeypatch.setattr(scenarios, 'CONTENT', file.getvalue())


@pytest.mark.conformance
class TestGce(DriverConformance):
    driver_class = HurriedDriver

    @pytest.fixture
    def way(self, request):
        callspec = getattr(request.node, 'callspec', None)
        return callspec and callspec.params.get('way')

    @pytest.fixture
    def cloud(self, way):
        gce = GCE()
        yield Cloud(gce, CONFIGURATION if way != 'import'
                    else CONFIGURATION.replace(
                        '- built\n', '- {name: built, image-format: tar.gz}'
                        '\n', 1))
        gce.end()

    @pytest.fixture
    def storage(self, cloud, content, tmp_path, way):
        storage = (Bucket(cloud.gce) if way == 'import'
                   else scenarios.Storage(tmp_path / 'storage'))
        yield storage
        storage.end()
