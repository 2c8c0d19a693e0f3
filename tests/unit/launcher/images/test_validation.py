"""A job that validates an image has nodes of that very upload, and nobody
else ever has."""

import collections

import pytest
from zuul.model import ProviderNode

from tests.fixtures.images import Cloud, ImageLauncher
from tests.fixtures.launcher import Steps
from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from zuul_nodes import uploadboots

State = ProviderNode.State


class ImageSteps(Steps, ImageLauncher):
    """A launcher in steps, with images."""

    def __init__(self, config):
        self.clouds = collections.defaultdict(Cloud)
        super().__init__(config)
        self.records = self.image_records
        self.builds = self.records.builds
        self.uploads = self.records.uploads
        self.jobs = self.image_jobs

    def getProvider(self, name='rack', tenant='tenant'):
        return super().getProvider(name, tenant)

    def deleteRequest(self, request):
        with self.context() as context:
            request.delete(context)
        self.runUntil(lambda: not self.api.getNodesetRequest(request.uuid))


@pytest.fixture
def images(racks, monkeypatch):
    """:return: uuid of a node -> external id of the image that it is made
        from."""
    images = {}
    good = ShelfProvider.getCreateStateMachine

    def getCreateStateMachine(provider, node, image, log):
        images[node.uuid] = image
        return good(provider, node, image, log)
    monkeypatch.setattr(
        ShelfProvider, 'getCreateStateMachine', getCreateStateMachine)
    return images


@pytest.fixture
def steps(zuul_conf, tmp_path, racks):
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = ImageSteps(zuul_conf)
    yield launcher
    launcher.end()


def layout(label='', fedora=False):
    """:return: configuration: one provider, with an image of Zuul's; the
        label ``other`` has another one, if it is asked for."""
    text = cloud('rack').replace('type: cloud', 'type: zuul')
    if fedora:
        text = text.replace('name: other, image: debian',
                            'name: other, image: fedora')
        text = text.replace('images: [debian]', 'images: [debian, fedora]')
        text = '- image: {name: fedora, type: zuul}' + text
    return text.replace('name: big,', f'name: big, {label}')


@pytest.fixture
def tested(steps):
    """:return: a function that sets a layout; gives what the request of a
        job says which validates an upload, beside one that is in service.
    """
    def tested(*args, **kwargs):
        steps.setLayout(layout(*args, **kwargs))
        steps.addReady('in service')
        upload = steps.addReady('under test', validated=None)
        return {'image_upload_uuid': upload.uuid, 'image_names': ['debian']}
    return tested


def test_validation_job_gets_node_of_its_upload(steps, racks, images, tested):
    job = tested()
    _, (before,) = steps.serveNew('big')
    ready = steps.addNode(
        steps.getProvider(), 'big', state=State.READY)
    _, (node,) = steps.serveNew('big', **job)
    assert node not in (before, ready)
    assert images[node.uuid] == 'under test'
    assert node.image_upload_uuid == job['image_upload_uuid']
    _, (after,) = steps.serveNew('big')
    assert after is ready
    _, (after,) = steps.serveNew('big')
    assert images[before.uuid] == images[after.uuid] == 'in service'


@pytest.mark.parametrize('label', ['', 'slots: 2,'], ids=['node', 'slots'])
def test_launcher_writes_down_which_node_it_has_made_of_an_upload(
        steps, racks, images, tested, label):
    """The record of a node is gone when its job is reported."""
    job = tested(label)
    _, (node,) = steps.serveNew('big', **job)
    _, (other,) = steps.serveNew('big')
    found = uploadboots.find(
        steps.zk_client.client, job['image_upload_uuid'])
    assert node.uuid in found
    assert other.uuid not in found


def test_validation_job_gets_node_of_another_image_too(
        steps, racks, images, tested):
    job = tested(fedora=True)
    steps.addReady('fedora', 'fedora')
    _, nodes = steps.serveNew('big', 'other', **job)
    assert [images[node.uuid] for node in nodes] == ['under test', 'fedora']
    assert nodes[1].image_upload_uuid is None


def test_node_of_validation_job_goes_after_the_job(
        steps, racks, images, tested):
    job = tested('reuse: true,')
    request, (node,) = steps.serveNew('big', **job)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert racks.instances == {}


def test_node_of_validation_job_goes_when_the_request_is_deleted(
        steps, racks, images, tested):
    job = tested()
    request, (node,) = steps.serveNew('big', **job)
    steps.deleteRequest(request)
    _, (other,) = steps.serveNew('big')
    assert other is not node
    steps.runUntil(lambda: steps.isGone(node))
    assert list(racks.instances) == [other.uuid]


def test_building_node_of_deleted_validation_request_goes(
        steps, racks, images, tested):
    """It serves no other request."""
    job = tested()
    racks.slow.add('rack')
    request = steps.addRequest('big', **job)
    steps.runUntil(lambda: racks.instances)
    node, = steps.nodes()
    steps.deleteRequest(request)
    steps.runUntil(lambda: not node.request_id)
    assert node.state == State.BUILDING
    other = steps.addRequest('big')
    steps.runUntil(lambda: len(racks.instances) == 2)
    assert node.uuid not in other.nodes
    racks.slow.clear()
    steps.runUntil(lambda: isDone(other) and steps.isGone(node))
    assert list(racks.instances) == other.nodes


def test_slots_of_validation_machine_serve_no_other_request(
        steps, racks, images, tested):
    """The whole machine is made of the upload."""
    job = tested('slots: 2,')
    request, (node,) = steps.serveNew('big', **job)
    host = steps.api.getProviderNode(node.main_node_id)
    assert images[host.uuid] == 'under test'
    _, (other,) = steps.serveNew('big')
    assert other.main_node_id != host.uuid
    assert images[other.main_node_id] == 'in service'
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node, host))
    assert list(racks.instances) == [other.main_node_id]
