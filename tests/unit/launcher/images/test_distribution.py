"""Providers that need an image only after it has been built."""

import threading

import pytest
from zuul.model import ImageUpload

from tests.fixtures.images import LAYOUT, PROVIDER, ImageLauncher, UploadJob
from tests.fixtures.racks import isDone
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.images import KEY


@pytest.fixture
def launcher(image_launcher):
    return image_launcher


def getRecords(launcher):
    """:return: the uuids of the uploads that ZooKeeper has."""
    client = launcher.zk_client.client
    path = f'{ImageUpload.ROOT}/{ImageUpload.UPLOADS_PATH}'
    return ({*client.get_children(path)} - {'_sync'}
            if client.exists(path) else set())


@pytest.fixture
def spread(launcher):
    """:return: a function that has a launcher look what is missing, and
    returns the uploads that there were not before."""
    def spread():
        before = {each.uuid for each in launcher.getUploads()}
        launcher.distribution.reconcile()
        # What was written just now, its watch may not have told yet.
        waitFor(lambda: getRecords(launcher) == {
            each.uuid for each in launcher.getUploads()})
        return [each for each in launcher.getUploads()
                if each.uuid not in before]
    return spread


def setNames(launcher, *names):
    launcher.setLayout(LAYOUT + ''.join(
        PROVIDER.replace('NAME', name) for name in names))


def test_a_provider_is_added(launcher, spread):
    setNames(launcher, 'rack')
    image = launcher.addReady('old')
    assert spread() == []
    setNames(launcher, 'rack', 'other')
    added, = spread()
    provider = launcher.getProvider('other')
    assert added.artifact_uuid == image.artifact_uuid
    assert added.canonical_name == image.canonical_name
    assert added.endpoint_name == provider.getEndpoint().canonical_name
    assert added.providers == [provider.canonical_name]
    assert added.config_hash == provider.images['debian'].zuul_config_hash
    assert (added.state, added.validated) == ('pending', None)
    # Once.
    assert spread() == []


def test_the_newest_build_is_taken(launcher, spread):
    artifacts = [launcher.addArtifact(timestamp=timestamp)
                 for timestamp in (1, 3, 2)]
    for artifact in artifacts:
        launcher.addUpload(artifact, _state='ready', validated=True)
    added, = spread()
    assert added.artifact_uuid == artifacts[1].uuid


def test_a_build_that_is_bad_is_not_taken(launcher, spread):
    good, bad = (launcher.addArtifact(timestamp=timestamp)
                 for timestamp in (1, 2))
    launcher.addUpload(good, _state='ready', validated=True)
    launcher.addUpload(
        bad, _state='failed', validated=False, build_uuid='build')
    added, = spread()
    assert added.artifact_uuid == good.uuid


def test_a_copy_of_a_validated_build_needs_no_validation(launcher, spread):
    artifact = launcher.addArtifact(validated=True)
    launcher.addUpload(artifact, _state='ready', validated=True)
    added, = spread()
    assert added.validated is True


@pytest.mark.parametrize('attributes', [
    {'state': None}, {'state': 'deleting'}, {'format': 'vhd'},
    {'canonical_name': 'example.com/another/debian'}], ids=str)
def test_builds_that_are_not_distributed(launcher, spread, attributes):
    artifact = launcher.addArtifact(**attributes)
    launcher.addUpload(artifact)
    assert spread() == []


def test_a_build_without_uploads_is_distributed(launcher, spread):
    launcher.addArtifact()
    assert len(spread()) == 2


def test_builds_without_a_time(launcher, spread):
    for timestamp in (None, 1, None):
        launcher.addArtifact(timestamp=timestamp)
    assert len({each.artifact_uuid for each in spread()}) == 1


def test_an_unfinished_record_of_a_build_is_adopted(launcher, spread, jump):
    artifact = launcher.addArtifact(state=None)
    with launcher.context() as context, artifact.locked(context):
        jump(launcher.settings.image_adoption_age + 1)
        assert spread() == []
    assert len(spread()) == 2
    assert artifact.state == 'ready'


@pytest.mark.parametrize('state', ['failed', 'deleting', 'uploading'])
def test_there_is_an_upload_whatever_has_become_of_it(
        launcher, spread, state):
    artifact = launcher.addArtifact()
    launcher.addUpload(artifact)
    launcher.addUpload(artifact, 'other', _state=state)
    assert spread() == []


def test_records_of_an_older_zuul(launcher, spread):
    artifact = launcher.addArtifact()
    launcher.addUpload(artifact)
    launcher.addUpload(
        artifact, 'other',
        config_hash=launcher.getProvider('other').images['debian'].config_hash)
    assert spread() == []


def test_endpoints_of_other_launchers(launcher, spread):
    launcher.addReady('image')
    rack = launcher.getProvider().getEndpoint().canonical_name
    launcher.endpoints = {rack: launcher.endpoints[rack]}
    assert spread() == []


def test_a_provider_that_can_not_tell_its_endpoint(launcher, spread):
    launcher.addReady('image')

    def fail():
        raise RuntimeError('broken')
    launcher.getProvider('rack')._set(getEndpoint=fail)
    added, = spread()
    assert added.providers == [launcher.getProvider('other').canonical_name]


def test_a_locked_artifact_is_distributed_later(launcher, spread):
    upload = launcher.addReady('image')
    artifact = launcher.builds.getItem(upload.artifact_uuid)
    with launcher.context() as context, artifact.locked(context):
        assert spread() == []
    # It is looked at again.
    assert KEY in launcher.queue.due
    assert len(spread()) == 1


def test_two_launchers_add_it_once(launcher, zuul_conf, tmp_path):
    launcher.addReady('image')
    other = ImageLauncher(zuul_conf, tmp_path)
    try:
        waitFor(lambda: other.getUploads()
                and other.builds.getItems())
        spreadings = [launcher.distribution, other.distribution]
        begin = threading.Barrier(2)

        def run(spreading):
            begin.wait(10)
            spreading.reconcile()
        threads = [threading.Thread(target=run, args=(each,))
                   for each in spreadings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in spreadings:
            each.reconcile()
        launcher.zk_client.client.sync('/')
        assert launcher.uploads.waitForSync(10)
        assert len(launcher.getUploads()) == 2
    finally:
        other.end()


def test_when_a_layout_changes(launcher, steps):
    setNames(launcher, 'rack')
    launcher.addReady('image')
    steps.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack'))
    steps.runUntil(launcher.getUploads)
    assert len(launcher.getUploads()) == 1
    steps.setLayout(LAYOUT + ''.join(
        PROVIDER.replace('NAME', name) for name in ('rack', 'other')))
    steps.runUntil(lambda: {
        upload.endpoint_name for upload in launcher.getUploads()}
        == {'rack/rack', 'other/other'})


def test_a_change_that_had_its_image_built(
        launcher, steps, file_server, monkeypatch):
    """Before it takes effect, with a label and a provider."""
    cloud = launcher.clouds['rack']
    monkeypatch.setattr(
        ShelfProvider, 'getImageUploadJob',
        lambda provider, image, name, *args: UploadJob(cloud, name))
    file_server.files['image'] = b'image'
    launcher.addArtifact(url=f'{file_server.url}/image', validated=True)
    steps.setLayout('[]')
    steps.run()
    assert not launcher.getUploads()
    steps.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack').replace(
        'labels:', 'label-defaults: {host-key-checking: false}\n    labels:'))
    steps.runUntil(lambda: launcher.getStates() == ['ready'])
    assert list(cloud.images.values()) == [b'image']
    request = steps.addRequest('debian')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
