"""How artifacts, and with them their uploads and files, come to an end."""

import types

import pytest

from tests.fixtures.images import LAYOUT, PROVIDER, TIMEOUT, Cloud
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.shelf.shelf_maker import ShelfProviderNode
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagelayouts, leftfiles

WITHOUT_FEDORA = (LAYOUT + PROVIDER.replace('NAME', 'rack')).replace(
    '      - fedora\n', '').replace('[debian, fedora, ', '[debian, ')
SOON = pytest.mark.settings(unneeded_image_delay=0.1)
REFUSED = {'validated': False, 'build_uuid': 'build'}


@pytest.fixture
def launcher(image_launcher):
    image_launcher.queue.start()
    return image_launcher


def isGone(launcher, artifact):
    return not launcher.zk_client.client.exists(artifact.getPath())


def makeOld(launcher):
    """:return: the artifact of the oldest of three uploads."""
    upload = launcher.addReady('1', timestamp=1)
    # With newer ones it may be gone at any moment.
    artifact = launcher.builds.getItem(upload.artifact_uuid)
    for number in (2, 3):
        launcher.addReady(f'{number}', timestamp=number)
    return artifact


def test_the_record_goes_when_the_file_is_deleted(launcher, pipelines):
    artifact = makeOld(launcher)
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])
    # The upload is gone before.
    assert set(launcher.clouds['rack'].images) == {'2', '3'}
    # The cache learns of it after the transaction that sends the event.
    waitFor(lambda: artifact.state == 'deleting')
    event, = [event for event in pipelines.events
              if event.type == 'image-delete']
    assert event.image_names == ['debian']
    item, = [path for path in pipelines.take() if '/image-delete/' in path]
    launcher.images.reconcile()
    assert not isGone(launcher, artifact)
    pipelines.delete(item)
    waitFor(lambda: isGone(launcher, artifact))
    waitFor(lambda: not launcher.jobs.events.getKeys('image-delete'))
    assert pipelines.getEvents('image-delete') == []


def test_a_tenant_that_can_not_be_read_may_need_it(launcher, pipelines):
    launcher.scope.unread = {'another'}
    artifact = makeOld(launcher)
    launcher.images.reconcile()
    launcher.images.join(TIMEOUT)
    assert set(launcher.clouds['rack'].images) == {'1', '2', '3'}
    launcher.scope.unread = frozenset()
    launcher.images.reconcile()
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


@pytest.mark.settings(image_use_interval=0.01)
@pytest.mark.parametrize('recorded', [True, False])
def test_an_upload_that_a_node_is_launched_from_is_kept(
        launcher, pipelines, recorded, monkeypatch):
    """It keeps its image until it is there."""
    node = ShelfProviderNode()
    state = {'image_external_id': '1'}
    node._set(state=node.State.BUILDING,
              create_state=state if recorded else {},
              create_state_machine=None if recorded
              else types.SimpleNamespace(**state))
    launcher.nodes = [node]
    artifact = makeOld(launcher)
    launcher.images.reconcile()
    assert set(launcher.clouds['rack'].images) == {'1', '2', '3'}
    node._set(state=node.State.READY)
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


def test_no_more_nodes_are_made_of_a_build_that_is_being_deleted(
        launcher, pipelines):
    """Otherwise a busy label would keep it in use for ever."""
    node = ShelfProviderNode()
    node._set(state=node.State.BUILDING,
              create_state={'image_external_id': 'bad'})
    launcher.nodes = [node]
    launcher.addReady('good', timestamp=1)
    bad = launcher.addReady('bad', timestamp=2)
    artifact = launcher.builds.getItem(bad.artifact_uuid)
    launcher.setState(artifact, 'deleting')
    launcher.images.reconcile()
    assert 'bad' in launcher.clouds['rack'].images
    new = types.SimpleNamespace(label='debian', image_upload_uuid=None)
    assert launcher.node_images.getExternalId(
        new, launcher.getProvider()) == 'good'


def test_records_without_an_image_are_not_in_use(launcher, pipelines):
    """Whatever else is being made."""
    node = ShelfProviderNode()
    node._set(state=node.State.BUILDING, create_state={},
              create_state_machine=None)
    launcher.nodes = [node]
    launcher.queue.stop()
    launcher.queue.join()
    upload = launcher.addUpload(launcher.addArtifact(), _state='deleting')
    launcher.images.reconcile()
    waitFor(lambda: upload not in launcher.getUploads())


def test_file_that_no_pipeline_deletes_is_left_behind(launcher, pipelines):
    pipelines.publish(pipelines={**PIPELINES, 'image-delete': []})
    artifact = makeOld(launcher)
    waitFor(lambda: isGone(launcher, artifact))
    assert pipelines.getEvents('image-delete') == []
    left, = leftfiles.readAll(launcher.zk_client.client)
    assert left | {'time': None} == {
        'uuid': artifact.uuid, 'canonical_name': artifact.canonical_name,
        'name': 'debian', 'format': 'raw', 'url': artifact.url,
        'build_uuid': None, 'build_tenant_name': 'tenant', 'time': None,
        'cause': 'no-job',
        'reason': 'no tenant has a job that deletes the file'}


@pytest.mark.parametrize('what', ['unknown', 'broken'])
def test_file_waits_until_it_is_certain_that_no_job_deletes_it(
        launcher, pipelines, what):
    """Its project may have a mistake, or no scheduler has told yet."""
    if what == 'unknown':
        launcher.jobs.pipelines._layouts.clear()
    else:
        pipelines.publish(pipelines={**PIPELINES, 'image-delete': []},
                          broken=['example.com/nodes'])
    artifact = makeOld(launcher)
    waitFor(lambda: set(launcher.clouds['rack'].images) == {'2', '3'})
    launcher.images.reconcile()
    deletion = launcher.images.retention.deletion
    waitFor(lambda: not deletion.uuids_in_queue)
    assert not isGone(launcher, artifact)
    pipelines.publish(layout_uuid='new')
    launcher.schedule.checkSoon()
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


def test_nothing_is_deleted_while_a_layout_is_invalid(launcher, pipelines):
    path = imagelayouts.getPath('tenant')
    launcher.zk_client.client.set(path, b'{')
    waitFor(lambda: launcher.jobs.pipelines._layouts['tenant'] == b'{')
    artifact = makeOld(launcher)
    launcher.images.reconcile()
    assert not isGone(launcher, artifact)
    pipelines.publish()
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


@pytest.mark.parametrize('other', [True, False])
def test_the_tenant_of_the_build_is_gone(launcher, pipelines, other):
    """Another one's jobs delete the file, if there is one."""
    launcher.states['other'] = \
        launcher.states.pop('tenant')
    pipelines.publish(*([] if other else ['debian']), tenant='other')
    artifact = makeOld(launcher)
    if other:
        waitFor(lambda: pipelines.getEvents('image-delete', 'other')
                == [artifact.uuid])
        assert not isGone(launcher, artifact)
    else:
        waitFor(lambda: isGone(launcher, artifact))
    assert not pipelines.getEvents('image-delete')


def test_another_launcher_goes_on(launcher, pipelines):
    """Nobody who knows of the event by heart is needed."""
    artifact = makeOld(launcher)
    waitFor(lambda: pipelines.getEvents('image-delete'))
    launcher.jobs.event_tracker.tell = lambda: None
    for path in pipelines.take():
        if '/image-delete/' in path:
            pipelines.delete(path)
    launcher.schedule.checkSoon()
    waitFor(lambda: isGone(launcher, artifact))


def test_a_build_that_a_user_deletes(launcher, pipelines):
    upload = launcher.addReady('image')
    artifact = launcher.builds.getItem(upload.artifact_uuid)
    launcher.setState(artifact, 'deleting')
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])
    assert not launcher.clouds['rack'].images


def test_the_newest_build_stays_if_a_provider_needs_it(launcher, pipelines):
    """It may get uploads again."""
    old, new = (launcher.addArtifact('fedora', timestamp=number)
                for number in (1, 2))
    waitFor(lambda: pipelines.getEvents('image-delete') == [old.uuid])
    launcher.images.reconcile()
    assert new.state == 'ready'


@SOON
def test_a_build_in_a_format_without_use_is_deleted(launcher, pipelines):
    artifact = launcher.addArtifact(format='vhd')
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


def test_a_new_build_without_use_is_kept_for_a_while(launcher, pipelines):
    """The change that adds its provider may be about to take effect."""
    artifact = launcher.addArtifact()
    launcher.setLayout(LAYOUT)
    launcher.images.reconcile()
    assert artifact.state == 'ready'
    launcher.change(unneeded_image_delay=0)
    launcher.images.reconcile()
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


# The order of builds

def test_a_build_that_is_validated_late(launcher, pipelines):
    """It is older, though its upload has a newer time."""
    def add(name, built, timestamp, **kwargs):
        return launcher.addUpload(
            launcher.addArtifact(timestamp=built), external_id=name,
            **{'_state': 'ready', 'validated': True,
               'timestamp': timestamp} | kwargs)
    add('old', 1, 9)
    add('new', 2, 3)
    node = types.SimpleNamespace(label='debian', image_upload_uuid=None)
    assert launcher.node_images.getExternalId(
        node, launcher.getProvider()) == 'new'
    newest = add('newest', 3, 4, validated=None)
    launcher.images.reconcile()
    assert newest.state == 'ready'


# Validation has failed

def test_an_upload_that_was_refused(launcher, pipelines):
    """It leaves the cloud; the old one stays, and so does what others have
    of that build."""
    launcher.addReady('old', timestamp=1)
    artifact = launcher.addArtifact(timestamp=2)
    others = launcher.addUpload(
        artifact, 'other', _state='ready', external_id='1', validated=True)
    upload = launcher.addUpload(
        artifact, _state='ready', external_id='new', **REFUSED)
    waitFor(lambda: upload.state == 'failed')
    assert set(launcher.clouds['rack'].images) == {'old'}
    launcher.images.reconcile()
    assert {upload, others} <= set(launcher.getUploads())
    assert artifact.state == 'ready'


def test_a_build_that_was_refused_everywhere(launcher, pipelines):
    """It stays for people to look at, until there is a newer one."""
    launcher.addReady('old', timestamp=1)
    artifact = launcher.addArtifact(timestamp=2)
    uploads = [launcher.addUpload(
        artifact, name, _state='ready', external_id=name, **REFUSED)
        for name in ('rack', 'other')]
    waitFor(lambda: {upload.state for upload in uploads} == {'failed'})
    assert set(launcher.clouds['rack'].images) == {'old'}
    assert not launcher.clouds['other'].images
    launcher.images.reconcile()
    assert set(uploads) <= set(launcher.getUploads())
    launcher.addUpload(launcher.addArtifact(timestamp=3), 'rack')
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])
    assert not set(uploads) & set(launcher.getUploads())


def test_the_record_of_an_upload_that_was_just_rejected_is_kept(
        launcher, pipelines):
    """The deletion was decided while the image was being deleted."""
    retention = launcher.images.retention
    upload = launcher.addUpload(
        launcher.addArtifact(), _state='failed', **REFUSED)
    retention.deletion.addUpload(upload, upload.getZKVersion() - 1)
    waitFor(lambda: not retention.deletion.uuids_in_queue)
    launcher.images.reconcile()
    assert upload in launcher.getUploads()
    assert upload.state == upload.State.FAILED


# The image is gone

@SOON
def test_builds_of_an_image_without_definition_are_deleted(
        launcher, pipelines,):
    upload = launcher.addReady('image', 'fedora')
    keep = launcher.addReady('keep')
    launcher.setLayout(WITHOUT_FEDORA)
    pipelines.publish('fedora')
    waitFor(lambda: pipelines.getEvents('image-delete')
            == [upload.artifact_uuid])
    assert set(launcher.clouds['rack'].images) == {'keep'}
    assert keep in launcher.getUploads()


@SOON
def test_its_endpoint_is_gone_too(launcher, pipelines,):
    upload = launcher.addReady('image', 'fedora', 'other')
    launcher.setLayout(WITHOUT_FEDORA)
    pipelines.publish('fedora')
    waitFor(lambda: pipelines.getEvents('image-delete')
            == [upload.artifact_uuid])
    assert not launcher.clouds['other'].images


@SOON
def test_its_provider_has_moved(launcher, pipelines,):
    """It has nothing to do with what is called the same where it is now."""
    former = launcher.clouds['rack']
    launcher.addReady('image')
    moved = launcher.clouds['rack'] = Cloud()
    moved.images['image'] = b'another'
    launcher.setLayout(LAYOUT + PROVIDER.replace('NAME', 'rack').replace(
        'connection: rack', 'connection: other'))
    waitFor(lambda: not former.images)
    assert moved.images == {'image': b'another'}
    # The provider needs the build where it is now.
    assert pipelines.getEvents('image-delete') == []


@SOON
def test_its_provider_is_gone_too(launcher, pipelines,):
    upload = launcher.addReady(
        'image', 'fedora', providers=['example.com%2Fnodes/former'],
        config_hash='former')
    launcher.setLayout(WITHOUT_FEDORA)
    waitFor(lambda: pipelines.getEvents('image-delete')
            == [upload.artifact_uuid])
    assert not launcher.clouds['rack'].images


@pytest.mark.parametrize('attributes', [
    {'layout_uuid': 'former'}, {'broken': ['example.com/nodes']}], ids=str)
def test_a_build_is_kept_while_its_definition_may_exist(
        launcher, pipelines, attributes):
    """Its project has an error, or the layout is a former one."""
    artifact = launcher.addArtifact('fedora')
    pipelines.publish('fedora', **attributes)
    launcher.setLayout(WITHOUT_FEDORA)
    launcher.change(unneeded_image_delay=0)
    launcher.images.reconcile()
    assert artifact.state == 'ready'
    pipelines.publish('fedora')
    waitFor(lambda: pipelines.getEvents('image-delete') == [artifact.uuid])


# Orphans

@pytest.mark.parametrize('there', [False, True])
def test_an_upload_without_artifact(launcher, pipelines, there):
    """Its artifact is gone, or the record of it can't be read."""
    if there:
        launcher.zk_client.client.create(
            '/zuul/images/artifacts/bad', b'{', makepath=True)
    launcher.queue.stop()
    launcher.queue.join()
    orphan = launcher.addUpload(
        launcher.addArtifact(), artifact_uuid='bad', external_id='image',
        _state='ready')
    launcher.images.reconcile()
    if there:
        assert orphan in launcher.getUploads()
        assert orphan.state == 'ready'
    else:
        waitFor(lambda: orphan not in launcher.getUploads())
        assert not launcher.clouds['rack'].images
