"""Requests for nodes whose image is not at a provider, or not yet."""

import time
import uuid

import pytest
from zuul.model import ImageBuildArtifact, ImageUpload

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.waiting import waitFor
from zuul_nodes.imageevents import EventKind
from zuul_nodes.requestnotes import getReason

State = ImageUpload.State
TEXT = cloud('one', 'two').replace('type: cloud', 'type: zuul')
REASON = 'one: has no usable upload of the image debian'


def addUpload(launcher, name, state=State.READY, validated=True):
    """:return: an upload of a build of the image to a provider."""
    provider = launcher.getProvider(name)
    image = provider.images['debian']
    common = {'uuid': uuid.uuid4().hex, 'timestamp': time.time(),
              'canonical_name': image.canonical_name}
    with launcher.context() as context:
        artifact = ImageBuildArtifact.new(context, **common | {
            'name': 'debian', 'format': 'raw', 'build_uuid': 'build',
            'build_tenant_name': 'tenant', 'url': 'http://127.0.0.1/',
            '_state': ImageBuildArtifact.State.READY})
        upload = ImageUpload.new(context, **common | {
            'artifact_uuid': artifact.uuid, 'external_id': 'external',
            'endpoint_name': provider.getEndpoint().canonical_name,
            'providers': [provider.canonical_name],
            'config_hash': image.zuul_config_hash, '_state': state,
            'validated': validated})
    uploads = launcher.image_records.uploads
    return waitFor(lambda: uploads.getItem(upload.uuid))


@pytest.fixture
def images(steps, monkeypatch):
    """A launcher that leaves images as they are."""
    steps.handlers['images'] = lambda _: steps.image_reconciler._tell()
    steps.setLayout(TEXT)
    return steps


def test_provider_without_the_image_is_no_candidate(images, racks):
    addUpload(images, 'two')
    request, _ = images.serveNew('big')
    assert not request.provider_node_data[0].get('failed_providers')
    assert len(racks.created) == 1


@pytest.mark.parametrize('state, validated', [
    (State.PENDING, None), (State.UPLOADING, None), (State.READY, None),
    (State.READY, False), (State.DELETING, True)])
def test_request_waits_until_an_upload_is_usable(
        images, racks, state, validated):
    upload = addUpload(images, 'one', state, validated)
    request = images.addRequest('big', 'big')
    assert REASON in images.waitForReason(request)
    assert racks.created == []
    with images.context() as context:
        upload.updateAttributes(context, _state=State.READY, validated=True)
    images.serve(request)
    assert len(racks.created) == 2


@pytest.mark.settings(unhandled_timeout=0.2)
def test_request_fails_if_no_build_of_its_image_is_under_way(images, racks):
    request = images.addRequest('big')
    images.fail(request)
    assert REASON in getReason(request)
    assert racks.created == []


@pytest.mark.settings(unhandled_timeout=0.05)
@pytest.mark.parametrize('how', ['event', 'upload', 'validation'])
def test_request_waits_as_long_as_the_image_is_under_way(images, how):
    events = images.image_jobs.events
    name = images.getProvider('one').images['debian'].canonical_name
    upload = addUpload(images, 'one', State.UPLOADING if how == 'upload'
                       else State.READY, None)
    event = {'event': (EventKind.BUILD, name),
             'validation': (EventKind.VALIDATE, upload.uuid)}.get(how)
    if event:
        events.noteUnderWay(*event, None, 'tenant')
        waitFor(lambda: events.getKeys(event[0]))
    request = images.addRequest('big')
    since = {}

    def hasBegunAgain():
        found = images.request_waits.unhandled.get(request.uuid)
        since.setdefault(found, len(since))
        return len(since) > 4
    images.runUntil(hasBegunAgain)
    assert not isDone(request)
    if event:
        events.forgetEvent(*event)
    else:
        with images.context() as context:
            upload.delete(context)
    images.fail(request)


def test_min_ready_does_not_wait_for_another_provider(images):
    images.setLayout(TEXT.replace('name: big,', 'name: big, min-ready: 1,'))
    addUpload(images, 'two')
    images.runUntil(lambda: any(
        node.state == node.State.READY for node in images.nodes()))


def test_provider_whose_endpoint_is_unknown_stops_no_other(
        images, racks, monkeypatch):
    """Its driver cannot say now where an upload would be."""
    addUpload(images, 'two')
    one = images.getProvider('one')

    def fail():
        raise RuntimeError('the cloud does not answer')
    monkeypatch.setitem(vars(one), 'getEndpoint', fail)
    request, _ = images.serveNew('big')
    assert request.state == request.State.FULFILLED
