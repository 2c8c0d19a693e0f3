"""What operators want of images, every launcher honours."""

import pytest

from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagecontrols
from zuul_nodes.imagecontrols import Control

DEBIAN = 'example.com%2Fnodes/debian'


@pytest.fixture
def launcher(image_launcher):
    image_launcher.queue.start()
    return image_launcher


@pytest.fixture
def client(launcher):
    return launcher.zk_client.client


def pause(launcher, client, name=DEBIAN):
    imagecontrols.add(client, Control.PAUSED, name, 'it is broken')
    waitFor(lambda: launcher.records.steering.isPaused(name))


def resume(client, name=DEBIAN):
    assert imagecontrols.remove(client, Control.PAUSED, name)


def test_no_upload_of_a_paused_image_begins(launcher, client, server):
    pause(launcher, client)
    artifact = launcher.addArtifact(state=None, url=server.url + '/image')
    launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    other = launcher.addArtifact(
        'fedora', state=None, url=server.url + '/image')
    launcher.addUpload(other)
    launcher.setState(other, 'ready')
    launcher.waitForUploads('pending', 'ready')
    assert len(server.requests) == 1
    resume(client)
    launcher.waitForUploads('ready', 'ready')


def checkBuiltAfterPause(launcher, client, pipelines):
    """The paused image is requested when the pause has ended."""
    launcher.images.builds.reconcile()
    assert pipelines.getEvents('image-build') == []
    resume(client)
    waitFor(lambda: not launcher.records.steering.isPaused(DEBIAN))
    launcher.images.builds.reconcile()
    assert pipelines.getEvents('image-build') == [['debian']]


def test_an_image_is_not_built_while_it_is_paused(
        image_launcher, pipelines, zk_client):
    launcher, client = image_launcher, image_launcher.zk_client.client
    launcher.addArtifact('fedora')
    pause(launcher, client)
    checkBuiltAfterPause(launcher, client, pipelines)


def addBoth(launcher):
    """Have no image missing."""
    for name in ('debian', 'fedora'):
        launcher.addArtifact(name)


def order(launcher, client, name=DEBIAN):
    imagecontrols.add(client, Control.ORDERED, name, '')
    waitFor(lambda: name in launcher.records.steering.getOrdered())


def test_a_build_that_is_ordered_is_requested_once(
        image_launcher, pipelines, zk_client):
    """Though nothing is missing."""
    launcher, client = image_launcher, image_launcher.zk_client.client
    addBoth(launcher)
    order(launcher, client)
    launcher.images.builds.reconcile()
    waitFor(lambda: not launcher.records.steering.getOrdered())
    launcher.images.builds.reconcile()
    assert pipelines.getEvents('image-build') == [['debian']]
    assert imagecontrols.readAll(client, Control.ORDERED) == {}


def test_two_launchers_request_one_build(
        image_launcher, pipelines, zk_client):
    launcher, client = image_launcher, image_launcher.zk_client.client
    addBoth(launcher)
    order(launcher, client)
    # Another launcher has obeyed, and this one does not know it yet.
    entries = dict(launcher.records.steering.entries)
    launcher.images.builds.reconcile()
    waitFor(lambda: not launcher.records.steering.getOrdered())
    launcher.records.steering.entries.update(entries)
    launcher.images.builds.reconcile()
    assert pipelines.getEvents('image-build') == [['debian']]


def test_an_ordered_build_of_a_paused_image_waits(
        image_launcher, pipelines, zk_client):
    launcher, client = image_launcher, image_launcher.zk_client.client
    addBoth(launcher)
    pause(launcher, client)
    order(launcher, client)
    checkBuiltAfterPause(launcher, client, pipelines)


def test_a_build_that_is_kept_stays_beside_newer_ones(launcher, client):
    oldest = launcher.addReady('1', timestamp=1)
    imagecontrols.add(client, Control.KEPT, oldest.artifact_uuid, 'to see')
    waitFor(lambda: launcher.records.steering.isKept(oldest.artifact_uuid))
    for number in (2, 3, 4):
        launcher.addReady(f'{number}', timestamp=number)
    images = launcher.clouds['rack'].images
    # Two are kept without being asked for.
    waitFor(lambda: set(images) == {'1', '3', '4'})
    assert imagecontrols.remove(client, Control.KEPT, oldest.artifact_uuid)
    waitFor(lambda: set(images) == {'3', '4'})


def test_a_build_that_is_kept_can_be_deleted(launcher, client, pipelines):
    """Then there is nothing to be kept any more."""
    pipelines.publish(pipelines={**PIPELINES, 'image-delete': []})
    oldest = launcher.addReady('1', timestamp=1)
    imagecontrols.add(client, Control.KEPT, oldest.artifact_uuid, '')
    artifact = launcher.builds.getItem(oldest.artifact_uuid)
    launcher.setState(artifact, 'deleting')
    waitFor(lambda: not launcher.clouds['rack'].images)
    waitFor(lambda: not imagecontrols.readAll(client, Control.KEPT))
