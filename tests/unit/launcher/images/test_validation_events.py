"""Events that have uploads validated, and what becomes of them."""

import pytest

from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.settings import Settings

READY = {'_state': 'ready', 'validated': None}


@pytest.fixture
def launcher(image_launcher):
    return image_launcher


def add(launcher, **kwargs):
    attributes = {'external_id': 'image'} | READY | kwargs
    return launcher.addUpload(launcher.addArtifact(), **attributes)


def reconcile(launcher):
    launcher.images.validation.reconcile(launcher.getUploads())


def test_an_event_that_was_lost(launcher, pipelines):
    upload = add(launcher)
    reconcile(launcher)
    assert pipelines.getEvents('image-validate') == [upload.uuid]
    reconcile(launcher)
    assert len(pipelines.getEvents('image-validate')) == 1


def test_what_zuul_itself_calls_false(launcher, pipelines):
    add(launcher, validated=False)
    reconcile(launcher)
    assert len(pipelines.getEvents('image-validate')) == 1


@pytest.mark.parametrize('attributes', [
    {'validated': True}, {'_state': 'pending'}, {'_state': 'deleting'},
    {'external_id': None}, {'validated': False, 'build_uuid': '1'}], ids=str)
def test_what_needs_no_validation(launcher, pipelines, attributes):
    add(launcher, **attributes)
    reconcile(launcher)
    assert pipelines.getEvents('image-validate') == []


def test_one_validation_for_each_upload_and_several_at_once(
        launcher, pipelines):
    artifact = launcher.addArtifact()
    uploads = {
        launcher.addUpload(artifact, name, external_id='image', **READY).uuid
        for name in ('rack', 'other')}
    reconcile(launcher)
    assert set(pipelines.getEvents('image-validate')) == uploads


def test_the_event_comes_with_the_upload(launcher, pipelines, file_server):
    file_server.files['image'] = b'image'
    launcher.queue.start()
    launcher.addUpload(launcher.addArtifact(url=f'{file_server.url}/image'))
    waitFor(lambda: launcher.getStates() == ['ready'])
    assert len(pipelines.getEvents('image-validate')) == 1
    assert len(launcher.jobs.events.getKeys('image-validate')) == 1


def test_again_if_it_came_to_nothing(launcher, pipelines, jump):
    """The job was cancelled, say; not as long as it may be running."""
    add(launcher)
    reconcile(launcher)
    item, = pipelines.take()
    jump(Settings.image_longest_backoff)
    reconcile(launcher)
    assert pipelines.getEvents('image-validate') == []
    pipelines.finish(item)
    reconcile(launcher)
    assert len(pipelines.getEvents('image-validate')) == 1


def test_not_at_once(launcher, pipelines):
    add(launcher)
    reconcile(launcher)
    pipelines.finish(*pipelines.take())
    reconcile(launcher)
    assert pipelines.getEvents('image-validate') == []


def test_a_pipeline_that_comes_later(launcher, pipelines, file_server,
                                     caplog):
    pipelines.publish(pipelines={**PIPELINES, 'image-validate': []})
    file_server.files['image'] = b'image'
    launcher.queue.start()
    launcher.addUpload(launcher.addArtifact(url=f'{file_server.url}/image'))
    waitFor(lambda: launcher.getStates() == ['ready'])
    launcher.queue.stop()
    launcher.queue.join()
    assert pipelines.getEvents('image-validate') == []
    assert 'no tenant validates it: a tenant' \
        in caplog.text
    pipelines.publish()
    reconcile(launcher)
    assert len(pipelines.getEvents('image-validate')) == 1


def test_what_was_sent_is_forgotten(launcher, pipelines):
    upload = add(launcher)
    reconcile(launcher)
    with launcher.context() as context:
        upload.updateAttributes(context, validated=True)
    reconcile(launcher)
    assert not launcher.jobs.events.getKeys('image-validate')


def test_an_upload_that_has_just_been_validated(
        launcher, pipelines, monkeypatch):
    upload = add(launcher)
    validation = launcher.images.validation
    isUnderWay = validation.event_tracker.isUnderWay

    def validate(*args):
        other = type(upload)()
        other._set(uuid=upload.uuid)
        with launcher.context() as context:
            other.refresh(context)
            other.updateAttributes(context, validated=True)
        waitFor(lambda: upload.validated)
        return isUnderWay(*args)
    monkeypatch.setattr(validation.event_tracker, 'isUnderWay', validate)
    reconcile(launcher)
    assert pipelines.getEvents('image-validate') == []
