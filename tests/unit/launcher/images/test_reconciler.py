"""Which uploads there are to be, and which of them a node gets."""

import threading
import types

import pytest

from tests.fixtures.images import LAYOUT, PROVIDER, TIMEOUT
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.images.deletion import DELETES
from zuul_nodes.launcher.images.nodeimages import NoImageError
from zuul_nodes.launcher.images.policy import getKept
from zuul_nodes.launcher.images.reconciler import ImageReconciler

SHARED = '- section: {name: rack, connection: rack, flavors: [small]}\n'


@pytest.fixture
def launcher(image_launcher):
    return image_launcher


def node(label, upload_uuid=None):
    return types.SimpleNamespace(uuid='node', subnodes=[], label=label,
                                 image_upload_uuid=upload_uuid)


def request(upload_uuid=None, *image_names):
    return types.SimpleNamespace(image_upload_uuid=upload_uuid,
                                 image_names=list(image_names) or None)


def externalId(launcher, *args, name='rack'):
    return launcher.node_images.getExternalId(
        node(*args), launcher.getProvider(name))


def isGone(launcher, *uploads):
    return not ({upload.uuid for upload in uploads}
                & {upload.uuid for upload in launcher.getUploads()})


# What nodes get

def test_the_newest_that_is_ready_and_validated(launcher):
    launcher.addReady('old', timestamp=1)
    launcher.addReady('new', timestamp=3)
    launcher.addReady('older', timestamp=2)
    launcher.addReady('unvalidated', timestamp=4, validated=None)
    launcher.addReady('not ready', timestamp=5, _state='deleting')
    launcher.addReady('elsewhere', 'debian', 'other', timestamp=6)
    launcher.addReady('another image', 'fedora', timestamp=7)
    assert externalId(launcher, 'debian') == 'new'
    assert externalId(launcher, 'debian', name='other') == 'elsewhere'


def test_an_image_of_the_cloud(launcher):
    assert externalId(launcher, 'stock') is None
    assert externalId(launcher, 'stock', 'any') is None
    assert launcher.node_images.isReady(launcher.getProvider(), 'stock')
    assert launcher.node_images.canUse(
        request('any', 'stock'), launcher.getProvider(), 'stock')


def test_no_image_yet(launcher):
    launcher.addReady('unvalidated', validated=False)
    with pytest.raises(NoImageError, match='debian'):
        externalId(launcher, 'debian')
    assert not launcher.node_images.isReady(launcher.getProvider(), 'debian')
    launcher.addReady('image')
    assert launcher.node_images.isReady(launcher.getProvider(), 'debian')
    assert not launcher.node_images.isReady(launcher.getProvider(), 'fedora')


def test_an_upload_under_test(launcher):
    launcher.addReady('in service')
    tested = launcher.addReady('under test', validated=None)
    assert externalId(launcher, 'debian', tested.uuid) == 'under test'
    assert externalId(launcher, 'debian') == 'in service'


def test_another_image_beside_one_under_test(launcher):
    tested = launcher.addReady('under test', validated=None)
    launcher.addReady('fedora', 'fedora')
    assert externalId(launcher, 'fedora', tested.uuid) == 'fedora'


def test_an_upload_under_test_that_is_elsewhere(launcher):
    launcher.addReady('in service')
    tested = launcher.addReady('other', 'debian', 'other', validated=None)
    with pytest.raises(NoImageError, match=tested.uuid):
        externalId(launcher, 'debian', tested.uuid)


def test_an_upload_under_test_that_is_gone(launcher):
    """Another image must not be validated in its place."""
    launcher.addReady('in service')
    with pytest.raises(NoImageError, match='gone'):
        externalId(launcher, 'debian', 'gone')


def test_an_upload_under_test_without_an_image(launcher):
    tested = launcher.addUpload(launcher.addArtifact())
    with pytest.raises(NoImageError):
        externalId(launcher, 'debian', tested.uuid)


def test_a_validating_node_comes_from_the_provider_of_the_upload(launcher):
    rack, other = map(launcher.getProvider, ('rack', 'other'))
    tested = launcher.addReady('under test', validated=None)
    validation = request(tested.uuid, 'debian')
    canUse = launcher.node_images.canUse
    assert canUse(validation, rack, 'debian')
    assert not canUse(validation, other, 'debian')
    # Other nodes of the same request may come from anywhere.
    assert canUse(validation, other, 'fedora')
    assert canUse(validation, other, 'stock')
    assert canUse(request(), other, 'debian')
    gone = request('gone', 'debian')
    assert not canUse(gone, rack, 'debian')
    assert canUse(gone, rack, 'fedora')


# Retention

def kept(launcher):
    provider = launcher.getProvider()
    image = provider.images['debian']
    uuids = getKept(launcher.uploads.getUploadsForImage(
        image.canonical_name), image, provider)
    return {upload.external_id or upload.state
            for upload in launcher.getUploads() if upload.uuid in uuids}


def test_the_two_newest_valid_uploads_are_kept(launcher):
    for number in range(1, 5):
        launcher.addReady(f'{number}', timestamp=number)
    assert kept(launcher) == {'3', '4'}


def test_newer_uploads_are_kept_for_their_validation(launcher):
    launcher.addReady('old', timestamp=1, validated=False)
    launcher.addReady('valid', timestamp=2)
    for number in range(3, 6):
        launcher.addReady(f'{number}', timestamp=number, validated=None)
    assert kept(launcher) == {'valid', '4', '5'}


def test_incomplete_uploads_are_kept(launcher):
    artifact = launcher.addArtifact()
    launcher.addUpload(artifact, timestamp=1, _state='failed')
    launcher.addReady('valid', timestamp=2)
    for number, state in enumerate(('pending', 'uploading'), 3):
        launcher.addUpload(artifact, timestamp=number, _state=state)
    assert kept(launcher) == {'valid', 'pending', 'uploading'}


def test_old_uploads_are_deleted_and_then_their_artifacts(
        launcher, pipelines):
    pipelines.publish(pipelines={**PIPELINES, 'image-delete': []})
    launcher.queue.start()
    old = [launcher.addReady(f'{number}', timestamp=number)
           for number in range(1, 5)]
    waitFor(lambda: isGone(launcher, *old[:2]))
    waitFor(lambda: len(launcher.builds.getItems()) == 2)
    assert set(launcher.clouds['rack'].images) == {'3', '4'}
    assert not isGone(launcher, old[2]) and not isGone(launcher, old[3])
    for upload in old[:2]:
        locks = f'{upload.ROOT}/{upload.LOCKS_PATH}'
        waitFor(lambda path=f'{locks}/{upload.uuid}':
                not launcher.zk_client.client.exists(path))


def test_an_artifact_that_is_newer_than_any_upload(launcher):
    launcher.addReady('image', timestamp=1)
    new = launcher.addArtifact(timestamp=2)
    launcher.images.reconcile()
    launcher.images.retention.deletion.stop()
    launcher.images.retention.deletion.join(TIMEOUT)
    assert new in launcher.builds.getItems()


def test_uploads_and_artifacts_in_state_deleting_are_deleted(launcher):
    artifact = launcher.addArtifact(state='deleting')
    by_artifact = launcher.addUpload(
        artifact, external_id='1', validated=True, _state='ready')
    by_upload = launcher.addReady('2', _state='deleting')
    launcher.queue.start()
    launcher.schedule.checkSoon()
    waitFor(lambda: isGone(launcher, by_artifact, by_upload))
    assert not launcher.clouds['rack'].images


def test_uploads_without_provider_are_kept(launcher):
    """Nobody knows one that was there, either."""
    upload = launcher.addReady('image', _state='deleting')
    launcher.places = {}
    launcher.setLayout(LAYOUT)
    launcher.images.reconcile()
    assert not launcher.images.retention.deletion.uuids_in_queue
    assert upload in launcher.getUploads()
    launcher.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack'))
    launcher.images.reconcile()
    waitFor(lambda: isGone(launcher, upload))


def test_an_endpoint_that_others_handle(launcher):
    upload = launcher.addReady('image', _state='deleting')
    pending = launcher.addUpload(launcher.addArtifact())
    launcher.endpoints = {}
    launcher.handled.handles = lambda name: False
    launcher.images.reconcile()
    launcher.images.uploads.stop()
    launcher.images.uploads.join(TIMEOUT)
    assert upload in launcher.getUploads()
    assert pending.state == 'pending'


@pytest.mark.settings(unneeded_image_delay=0.1)
def test_an_image_that_the_provider_has_no_more(launcher, pipelines):
    upload = launcher.addReady('image', 'fedora')
    launcher.setLayout((LAYOUT + PROVIDER.replace('NAME', 'rack')).replace(
        '      - fedora\n', '').replace('[debian, fedora, ', '[debian, '))
    launcher.queue.start()
    launcher.schedule.checkSoon()
    waitFor(lambda: isGone(launcher, upload))


def share(launcher, **configurations):
    """Have providers at one endpoint.

    :param configurations: name of a provider -> what its image is
        configured like, or None if it does not have it.
    """
    launcher.clouds.update(dict.fromkeys(
        configurations, launcher.clouds['rack']))
    launcher.setLayout(LAYOUT + SHARED + ''.join(
        f'- provider: {{name: {name}, section: rack, '
        + ('images: [debian], labels: [debian]}\n' if configuration
           else '}\n')
        for name, configuration in configurations.items()))
    for name, configuration in configurations.items():
        for image in launcher.getProvider(name).images.values():
            image.config_hash = image.zuul_config_hash = configuration
    launcher.images.reconcile()


def test_providers_that_come_and_go(launcher, pipelines):
    """An upload is for those that have the image configured alike, and
    stays with those that it was made for."""
    share(launcher, rack='small')
    upload = launcher.addReady('image')
    share(launcher, rack='small', same='small', different='large')
    for name in ('rack', 'same'):
        assert externalId(launcher, 'debian', name=name) == 'image'
    with pytest.raises(NoImageError):
        externalId(launcher, 'debian', name='different')
    share(launcher, rack='large', same='small', different='large')
    for name in ('rack', 'same'):
        assert externalId(launcher, 'debian', name=name) == 'image'
    with pytest.raises(NoImageError):
        externalId(launcher, 'debian', name='different')
    share(launcher, rack='large', same=None, different=None)
    assert externalId(launcher, 'debian', name='rack') == 'image'
    assert upload in launcher.getUploads()
    launcher.change(unneeded_image_delay=0)
    share(launcher, rack=None, same=None, different=None)
    waitFor(lambda: isGone(launcher, upload))


def test_an_invalid_record_affects_its_image_only(launcher):
    """An image whose uploads can not be compared loses none."""
    bad = [launcher.addReady(f'fedora {number}', 'fedora', timestamp=number,
                             providers=providers)
           for number, providers in enumerate(([], [], [], None))]
    old = [launcher.addReady(f'{number}', timestamp=number)
           for number in range(1, 4)]
    launcher.addUpload(launcher.addArtifact(), artifact_uuid='unknown')
    launcher.queue.start()
    launcher.schedule.checkSoon()
    waitFor(lambda: isGone(launcher, old[0]))
    for upload in (*bad, *old[1:]):
        assert not isGone(launcher, upload)


# Deletion

@pytest.mark.settings(first_backoff=0.01)
def test_a_delete_that_fails_is_tried_again(launcher):
    cloud = launcher.clouds['rack']
    cloud.errors = [RuntimeError('the cloud says no')] * 2
    launcher.queue.start()
    upload = launcher.addReady('image', _state='deleting')
    waitFor(lambda: isGone(launcher, upload))
    assert cloud.calls == ['delete'] * 3
    assert not cloud.images


@pytest.mark.settings(first_backoff=60)
def test_a_check_does_not_repeat_a_failed_deletion(launcher):
    cloud = launcher.clouds['rack']
    cloud.errors = [RuntimeError('the cloud says no')]
    upload = launcher.addReady('image', _state='deleting')
    launcher.images.reconcile()
    waitFor(lambda: launcher.images.retention.deletion.backoff.getLeft(
        upload.uuid))
    for _ in range(20):
        launcher.images.reconcile()
    assert cloud.calls == ['delete']


def test_deletes_do_not_wait_for_uploads_nor_for_one_another(
        launcher, file_server):
    file_server.files['image'] = b'image'
    rack, other = launcher.clouds['rack'], launcher.clouds['other']
    rack.answers.clear()
    artifact = launcher.addArtifact(url=f'{file_server.url}/image')
    launcher.addUpload(artifact)
    launcher.queue.start()
    waitFor(lambda: rack.calls == ['upload'])
    for number in range(9):
        launcher.addReady(f'{number}', _state='deleting')
    waitFor(lambda: 'delete' in rack.calls)
    deleted = launcher.addReady('x', 'debian', 'other')
    launcher.setState(deleted, 'deleting')
    waitFor(lambda: isGone(launcher, deleted))
    assert other.calls == ['delete']
    assert len(rack.images) == 9


@pytest.mark.settings(call_timeout=0.05)
def test_deletes_that_hang_are_given_up(launcher):
    cloud = launcher.clouds['rack']
    cloud.answers.clear()
    uploads = [launcher.addReady(f'{number}', _state='deleting')
               for number in range(DELETES + 1)]
    launcher.queue.start()
    launcher.schedule.checkSoon()
    waitFor(lambda: len(cloud.calls) > 2 * len(uploads))
    waitFor(lambda: not any(upload.is_locked for upload in uploads))
    assert not isGone(launcher, *uploads)
    cloud.answers.set()
    waitFor(lambda: isGone(launcher, *uploads))
    assert not cloud.images


@pytest.mark.parametrize('call', ['delete', 'upload'])
def test_a_cloud_that_hangs_does_not_hold_up_a_stop(
        launcher, file_server, call):
    file_server.files['image'] = b'image'
    cloud = launcher.clouds['rack']
    cloud.answers.clear()
    if call == 'delete':
        upload = launcher.addReady('image', _state='deleting')
    else:
        upload = launcher.addUpload(launcher.addArtifact(
            url=f'{file_server.url}/image'))
    before = threading.enumerate()
    launcher.queue.start()
    launcher.schedule.checkSoon()
    waitFor(lambda: cloud.calls == [call])
    launcher.images.stop()
    launcher.pools.stop()
    launcher.images.join(0.01)
    # Python waits for others at its exit.
    assert all(thread.daemon for thread in threading.enumerate()
               if thread not in before)
    # Who goes on with an upload sees by that whether it is at an end.
    waitFor(lambda: upload.is_locked == (call == 'upload'))


def test_a_locked_upload_is_deleted_when_it_is_unlocked(launcher):
    upload = launcher.addReady('image', _state='deleting')
    other = type(upload)()
    other._set(uuid=upload.uuid)
    with launcher.context() as context, other.locked(context):
        launcher.images.reconcile()
        waitFor(lambda: launcher.images.retention.deletion.backoff.getLeft(
            upload.uuid))
        assert not launcher.clouds['rack'].calls
    launcher.queue.start()
    waitFor(lambda: isGone(launcher, upload))


def test_an_upload_that_has_changed_since_the_decision_is_kept(launcher):
    upload = launcher.addReady('image', validated=False)
    version = upload.getZKVersion()
    with launcher.context() as context:
        upload.updateAttributes(context, validated=True)
    deletion = launcher.images.retention.deletion
    deletion.addUpload(upload, version)
    waitFor(lambda: not deletion.uuids_in_queue)
    assert upload.state == 'ready'
    deletion.addUpload(upload, upload.getZKVersion())
    waitFor(lambda: isGone(launcher, upload))


def test_stop_without_start(launcher):
    launcher.images.stop()
    launcher.images.join(TIMEOUT)
    launcher.addReady('image', _state='deleting')
    launcher.images.reconcile()
    assert not launcher.clouds['rack'].calls


# What the planner is told


def test_the_planner_is_told_of_images_if_they_have_changed(launcher):
    told = []
    nothing = types.SimpleNamespace(reconcile=lambda: None)
    layouts = types.SimpleNamespace(states=True, isUpToDate=lambda: True)
    reconciler = ImageReconciler(layouts, nothing, nothing, launcher.uploads,
                                 lambda: told.append(None))
    for _ in range(2):
        reconciler.reconcile()
        assert len(told) == 1
    launcher.addReady('new', timestamp=1)
    for _ in range(2):
        reconciler.reconcile()
        assert len(told) == 2
