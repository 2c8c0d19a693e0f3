"""How artifacts get to the endpoints, and what uploads come to."""

import bz2
import gzip
import hashlib
import json
import lzma
import pathlib
import time
import types
import zlib

from kazoo.exceptions import ConnectionLoss, OperationTimeoutError
import pytest
from zuul.lib.statsd import normalize_statsd_name

from tests.fixtures.images import IMAGE, TIMEOUT, UploadJob
from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers import LoginError, PermanentError
from zuul_nodes.launcher.images.schedule import KEY
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.zookeeper.transaction import Transaction

SHA256 = hashlib.sha256(IMAGE).hexdigest()
SETTINGS = Settings()


@pytest.fixture
def launcher(image_launcher):
    image_launcher.queue.start()
    return image_launcher


@pytest.fixture
def rack(launcher):
    return launcher.clouds['rack']


@pytest.fixture
def addArtifact(launcher, server):
    """:return: a function of a path on the server; gives an artifact that
    is not ready yet."""
    def add(path='/image', sha256=SHA256, **kwargs):
        return launcher.addArtifact(
            state=None, url=server.url + path, sha256=sha256, **kwargs)
    return add


def upload(launcher, artifact, *names):
    """:return: a list of uploads, in the order of the providers."""
    uploads = [launcher.addUpload(artifact, name)
               for name in names or ['rack']]
    launcher.setState(artifact, 'ready')
    return uploads


def gets(server):
    return [path for method, path, _ in server.requests if method == 'GET']


# The way of an upload

def test_one_download_for_all(launcher, server, addArtifact, tmp_path):
    artifact = addArtifact()
    uploads = upload(launcher, artifact, 'rack', 'other')
    launcher.waitForUploads('ready', 'ready')
    for each, cloud in zip(uploads, launcher.clouds.values(), strict=True):
        # Its name in the cloud tells what it is of.
        assert each.external_id == f'debian-{each.uuid}'
        assert cloud.images == {each.external_id: IMAGE}
    assert gets(server) == ['/image']
    assert sorted(launcher.getEvents()) == sorted(
        ('image-validate', ['debian'], each.uuid) for each in uploads)
    waitFor(lambda: not list(tmp_path.iterdir()))


def test_ready_upload_and_its_validation_event_are_written_together(
        launcher, addArtifact):
    """A launcher may die between any two writes."""
    uploaded, = upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    client = launcher.zk_client.client
    queue = launcher.trigger_events['tenant'].event_root
    event, = client.get_children(queue)
    _, stat = client.get(f'{queue}/{event}')
    _, upload_stat = client.get(uploaded.getPath())
    assert stat.czxid == upload_stat.mzxid


@pytest.mark.parametrize('error', [ConnectionLoss, OperationTimeoutError])
@pytest.mark.parametrize('is_written', [False, True])
def test_the_connection_is_lost_when_an_upload_is_ready(
        launcher, rack, addArtifact, monkeypatch, error, is_written):
    send = Transaction._send
    errors = [error()] * 2

    def fail(transaction, operations):
        if not errors:
            return send(transaction, operations)
        if is_written:
            send(transaction, operations)
        raise errors.pop()
    monkeypatch.setattr(Transaction, '_send', fail)
    uploaded, = upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']
    assert launcher.getEvents() == [
        ('image-validate', ['debian'], uploaded.uuid)]


def test_upload_is_ready_when_event_queue_is_full(
        launcher, rack, addArtifact, monkeypatch):
    """Then a user has to ask for its validation."""
    def put(data, updater=None):
        pass
    monkeypatch.setattr(launcher.trigger_events['tenant'], '_put', put)
    upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']
    assert launcher.getEvents() == []


def test_upload_is_ready_when_its_event_can_not_be_made(
        launcher, rack, addArtifact, monkeypatch):
    monkeypatch.delitem(launcher.connections.drivers, 'zuul')
    upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']
    assert launcher.getEvents() == []


def test_upload_whose_artifact_is_gone_is_deleted(launcher, rack, addArtifact):
    """No job validates it."""
    artifact = addArtifact()
    rack.answers.clear()
    upload(launcher, artifact)
    waitFor(lambda: rack.calls)
    with launcher.context() as context:
        artifact.delete(context)
    waitFor(lambda: launcher.builds.getItem(
        artifact.uuid) is None)
    rack.answers.set()
    waitFor(lambda: not launcher.getUploads())
    assert rack.calls == ['upload', 'delete']
    assert launcher.getEvents() == []


def test_validated_artifact_needs_no_validation_event(
        launcher, rack, addArtifact):
    artifact = addArtifact()
    launcher.addUpload(artifact, validated=True)
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')
    assert launcher.getEvents() == []


def test_statistics(launcher, addArtifact):
    uploads = upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    image = normalize_statsd_name(uploads[0].canonical_name).replace('/', '_')
    assert launcher.statsd.timers == [
        f'zuul.image.{image}.upload.rack_rack.duration']
    metric = 'zuul.launcher.server.{hostname}.'
    waitFor(lambda: launcher.statsd.gauges[f'{metric}upload_workers']
            == [0, 1, 0])
    assert launcher.statsd.gauges[f'{metric}endpoint_upload_workers'] == [
        0, 1, 0]
    assert launcher.statsd.gauges[f'{metric}endpoint_import_workers'] == [0]


def test_ready_image_is_not_uploaded_twice(launcher, rack, addArtifact):
    rack.answers.clear()
    upload(launcher, addArtifact())
    waitFor(lambda: rack.calls)
    for _ in range(10):
        launcher.images.reconcile()
    rack.answers.set()
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']


def test_hanging_endpoint_does_not_delay_others(launcher, rack, addArtifact):
    rack.answers.clear()
    mine, others = upload(launcher, addArtifact(), 'rack', 'other')
    waitFor(lambda: others.state == 'ready' and not others.is_locked)
    later, = upload(launcher, addArtifact(), 'other')
    waitFor(lambda: later.state == 'ready')
    assert mine.state == 'uploading'
    rack.answers.set()
    launcher.waitForUploads('ready', 'ready', 'ready')


def test_an_import_needs_no_download(launcher, rack, server, addArtifact):
    class ImportJob(UploadJob):
        def run(self):
            return self.cloud.upload(self.name, b'imported')

    launcher.getProvider()._set(
        getImageImportJob=lambda url, image, name, *args: ImportJob(
            rack, name))
    uploaded, = upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    assert rack.images[uploaded.external_id] == b'imported'
    assert server.requests == []


@pytest.mark.parametrize('planning', [True, False])
def test_secrets_in_errors_of_imports_are_not_shown(
        launcher, addArtifact, caplog, planning):
    errors = []

    def getJob(url, *args):
        def run():
            errors.append(ValueError(f'{url} is not to be had'))
            raise errors[-1]
        if planning:
            run()
        return types.SimpleNamespace(run=run, dependents=[])
    launcher.getProvider()._set(getImageImportJob=getJob)
    upload(launcher, addArtifact('/image?signature=secret'))
    launcher.waitForUploads('failed')
    assert 'secret' in str(errors[-1])
    assert '/image is not to be had' in caplog.text
    assert 'secret' not in caplog.text


# Copies

@pytest.fixture
def copying(launcher):
    """The other cloud can copy from the rack."""
    provider = launcher.getProvider('rack')
    launcher.clouds['other'].sources = [provider.canonical_name]
    return launcher


def test_a_copy_follows_its_source(copying, server, addArtifact):
    source, copied = upload(copying, addArtifact(), 'rack', 'other')
    copying.waitForUploads('ready', 'ready')
    assert copying.clouds['other'].images[copied.external_id] == (
        f'copy of {source.external_id}'.encode())
    assert len(copying.getEvents()) == 2


def test_a_copy_of_what_is_there(copying, server, addArtifact):
    artifact = addArtifact()
    copying.addUpload(artifact, external_id='1', _state='ready',
                      validated=True)
    copied, = upload(copying, artifact, 'other')
    copying.waitForUploads('ready', 'ready')
    assert copying.clouds['other'].images == {copied.external_id: b'copy of 1'}
    assert server.requests == []


def test_without_source_there_is_no_copy(copying, addArtifact):
    for cloud in copying.clouds.values():
        cloud.errors = [RuntimeError('no')] * SETTINGS.upload_attempts
    upload(copying, addArtifact(), 'rack', 'other')
    copying.waitForUploads('failed', 'failed')
    for cloud in copying.clouds.values():
        assert not cloud.images


@pytest.mark.settings(progress_interval=0)
def test_the_record_tells_how_far_it_is(launcher, rack, addArtifact):
    rack.answers.clear()
    added, = upload(launcher, addArtifact())

    def read():
        data, _ = launcher.zk_client.client.get(added.getPath())
        return json.loads(zlib.decompress(data))
    waitFor(lambda: rack.calls)
    record = read()
    assert record['_state'] == 'uploading'
    assert record['progress'].startswith('Downloading http://127.0.0.1')
    assert record['progress'].endswith(', 100 %')
    rack.answers.set()
    launcher.waitForUploads('ready')
    assert 'progress' not in read()


# Failures

def test_an_upload_that_fails_is_replaced(launcher, rack, addArtifact):
    rack.errors = [RuntimeError('no'), None]
    first, = upload(launcher, addArtifact())
    launcher.waitForUploads('ready')
    second, = launcher.getUploads()
    assert (second.uuid != first.uuid, second.attempt) == (True, 1)
    assert rack.calls == ['upload'] * 2


@pytest.mark.settings(upload_first_backoff=5)
def test_back_off_of_uploads_grows(image_launcher, monkeypatch):
    pauses = []
    monkeypatch.setattr(image_launcher.queue, 'addAfter',
                        lambda key, pause: pauses.append(round(pause)))
    monkeypatch.setattr(time, 'time', lambda: 1000)
    artifact = image_launcher.addArtifact()
    for attempt, state in enumerate(
            ('pending', 'pending', *['failed'] * 9), 1):
        image_launcher.addUpload(
            artifact, attempt=attempt, state_time=1000, _state=state)
    image_launcher.images.pending.reconcile()
    assert sorted(pauses) == [
        5, 10, 600, 1200, 2400, 4800, 9600, 19200, 38400, 43200, 43200]
    assert image_launcher.getStates() == ['failed'] * 9 + ['pending'] * 2


def test_failed_upload_is_retried_later(launcher, rack, addArtifact, jump):
    """The cloud may have been away for hours."""
    rack.errors = [RuntimeError('no')] * (SETTINGS.upload_attempts + 1)
    upload(launcher, addArtifact())
    launcher.waitForUploads('failed')
    jump(SETTINGS.image_first_backoff + 1)
    launcher.images.reconcile()
    waitFor(lambda: len(rack.calls) == SETTINGS.upload_attempts + 1)
    launcher.waitForUploads('failed')
    jump(4 * SETTINGS.image_first_backoff)
    launcher.images.reconcile()
    launcher.waitForUploads('ready')
    assert len(rack.images) == 1


@pytest.mark.settings(image_first_backoff=0.01)
@pytest.mark.parametrize('state, attempt', [
    ('pending', 1), ('failed', SETTINGS.upload_attempts - 1)])
def test_failed_upload_from_the_future_is_retried(
        launcher, addArtifact, monkeypatch, state, attempt):
    artifact = addArtifact()
    launcher.addUpload(artifact, attempt=attempt, _state=state,
                       state_time=time.time() + 86400)
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')


def getRemark(launcher, upload):
    return launcher.records.remarks.getRemark(upload.uuid)


@pytest.mark.settings(download_attempts=1)
def test_upload_fails_for_good_after_all_attempts(
        launcher, rack, server, addArtifact, tmp_path):
    upload(launcher, addArtifact('/broken/image', sha256=None))
    launcher.waitForUploads('failed')
    failed, = launcher.getUploads()
    assert failed.attempt == SETTINGS.upload_attempts - 1
    # Each time, it gets on once.
    assert len(gets(server)) == 2 * SETTINGS.upload_attempts
    assert 'Unable to download' in getRemark(launcher, failed)
    assert rack.calls == []
    waitFor(lambda: not list(tmp_path.iterdir()))


@pytest.mark.parametrize('path, checksums, reason', [
    ('/missing', {}, '404'), ('/image', {'sha256': 'f00'}, 'says f00'),
    ('/image', {'md5sum': 'f00'}, 'says f00'),
    ('/image', {'md5sum': 'f00', 'sha256': None}, 'says f00')])
def test_artifact_that_is_wrong_is_fetched_once(
        launcher, rack, server, addArtifact, path, checksums, reason):
    """The one of that name never will be right."""
    upload(launcher, addArtifact(path, **checksums))
    launcher.waitForUploads('failed')
    failed, = launcher.getUploads()
    assert len(gets(server)) == 1
    assert reason in getRemark(launcher, failed)
    assert rack.calls == []


def test_upload_that_the_cloud_refuses_for_good_is_made_once(
        launcher, rack, addArtifact):
    rack.errors = [PermanentError('This cloud takes no images.')]
    upload(launcher, addArtifact())
    launcher.waitForUploads('failed')
    failed, = launcher.getUploads()
    assert rack.calls == ['upload']
    assert getRemark(launcher, failed) == 'This cloud takes no images.'


def test_an_upload_is_left_to_a_launcher_that_the_cloud_does_not_refuse(
        launcher, rack, addArtifact, monkeypatch):
    """No attempt counts."""
    noted = []
    error = LoginError('no token')
    monkeypatch.setattr(
        launcher.images.pending.uploads, 'leaves',
        lambda name, error: noted.append((name, error)) or True)
    monkeypatch.setattr(launcher.handled, 'getServed', lambda: (
        {} if noted else launcher.endpoints))
    monkeypatch.setattr(
        launcher.handled, 'leaves', lambda endpoint: bool(noted))
    rack.errors = [error]
    first, = upload(launcher, addArtifact())
    # The deletion of the former record is left as well.
    launcher.waitForUploads('deleting', 'pending')
    assert noted == [(first.endpoint_name, error)]
    second, = (each for each in launcher.getUploads() if each != first)
    assert second.attempt == 0
    launcher.images.reconcile()
    assert rack.calls == ['upload']
    noted.clear()
    launcher.images.reconcile()
    launcher.waitForUploads('ready')


def test_what_an_upload_has_failed_with_is_told_until_it_is_ready(
        launcher, rack, addArtifact, monkeypatch):
    launcher.change(upload_first_backoff=3600)
    rack.errors = [RuntimeError('no such bucket')]
    first, = upload(launcher, addArtifact())
    waitFor(lambda: launcher.getUploads() != [first]
            and launcher.getStates() == ['pending'])
    second, = launcher.getUploads()
    assert getRemark(launcher, second) == 'no such bucket'
    launcher.change(upload_first_backoff=0)
    launcher.queue.add(KEY)
    launcher.waitForUploads('ready')
    assert getRemark(launcher, second) is None


def test_what_was_said_of_uploads_that_are_gone_is_forgotten(
        launcher, rack, addArtifact):
    rack.errors = [PermanentError('no')]
    upload(launcher, addArtifact())
    launcher.waitForUploads('failed')
    failed, = launcher.getUploads()
    launcher.records.remarks.setRemark('gone', 'It is too large.')
    launcher.queue.add(KEY)
    waitFor(lambda: launcher.records.remarks.getKeys() == {failed.uuid})


def test_checksums_may_be_upper_case(launcher, addArtifact):
    upload(launcher, addArtifact(sha256=SHA256.upper()))
    launcher.waitForUploads('ready')


def uploadFromElsewhere(launcher, addArtifact, **ways):
    """Upload what only drivers get at.

    :param ways: name of a provider -> how that downloads it.
    """
    for name, downloadUrl in ways.items():
        launcher.getProvider(name)._set(downloadUrl=downloadUrl)
    artifact = addArtifact()
    with launcher.context() as context:
        artifact.updateAttributes(context, url='s3://bucket/image')
    upload(launcher, artifact)


def downloadUrl(url, path):
    pathlib.Path(path).write_bytes(IMAGE)
    return path


def test_driver_can_download_an_image_itself(launcher, rack, addArtifact):
    def fail(url, path):
        raise RuntimeError(url)
    uploadFromElsewhere(launcher, addArtifact, rack=fail, other=downloadUrl)
    launcher.waitForUploads('ready')
    assert list(rack.images.values()) == [IMAGE]


def test_image_downloaded_by_driver_may_be_too_large(
        launcher, rack, addArtifact, caplog):
    launcher.change(image_size_limit=len(IMAGE) - 1)
    uploadFromElsewhere(launcher, addArtifact, rack=downloadUrl)
    launcher.waitForUploads('failed')
    assert not rack.images
    assert f'The image has at least {len(IMAGE)} bytes' in caplog.text


def test_error_of_one_driver_fails_its_upload_only(launcher, addArtifact):
    def fail(*args):
        raise RuntimeError('no')

    launcher.getProvider('rack')._set(getImageUploadJob=fail)
    _, others = upload(launcher, addArtifact(), 'rack', 'other')
    launcher.waitForUploads('failed', 'ready')
    assert others.state == 'ready'


def test_upload_of_unknown_provider_waits(launcher, addArtifact):
    artifact = addArtifact()
    unknown = launcher.addUpload(
        artifact, providers=['unknown'], config_hash='unknown')
    known, = upload(launcher, artifact)
    launcher.waitForUploads('pending', 'ready')
    assert (unknown.state, known.state) == ('pending', 'ready')


def test_upload_of_moved_provider_is_not_made(launcher, rack, addArtifact):
    """The image is of another endpoint."""
    artifact = addArtifact()
    launcher.addUpload(artifact, config_hash='former', providers=[
        launcher.getProvider('other').canonical_name])
    upload(launcher, artifact)
    launcher.waitForUploads('pending', 'ready')
    assert launcher.clouds['other'].calls == []


def test_upload_of_renamed_provider_is_made(launcher, rack, addArtifact):
    """Another one there wants it just so."""
    artifact = addArtifact()
    launcher.addUpload(artifact, providers=['former'])
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']


# Somebody else's, and those of the dead

def test_upload_of_dead_launcher_is_made_again(launcher, rack, addArtifact):
    artifact = addArtifact()
    launcher.addUpload(artifact, _state='uploading')
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')
    assert rack.calls == ['upload']
    assert launcher.getUploads()[0].attempt == 0


def test_upload_that_has_its_image_is_not_made_again(
        launcher, rack, addArtifact):
    artifact = addArtifact()
    left = launcher.addUpload(artifact, _state='uploading', external_id='1')
    launcher.setState(artifact, 'ready')
    launcher.waitForUploads('ready')
    assert rack.calls == []
    assert launcher.getEvents() == [
        ('image-validate', ['debian'], left.uuid)]


def lockAsAnother(context, record):
    other = type(record)()
    other._set(uuid=record.uuid)
    return other.locked(context)


def test_upload_of_another_launcher_is_left_alone(launcher, rack, addArtifact):
    artifact = addArtifact()
    theirs = launcher.addUpload(artifact, _state='uploading')
    with launcher.context() as context, lockAsAnother(context, theirs):
        mine, = upload(launcher, artifact, 'other')
        waitFor(lambda: mine.state == 'ready')
        launcher.images.reconcile()
        assert theirs.state == 'uploading'
    launcher.waitForUploads('ready', 'ready')


def test_upload_locked_by_another_is_not_polled(launcher, rack, addArtifact):
    """Even if the cache does not show its lock."""
    artifact = addArtifact()
    theirs = launcher.addUpload(artifact, _state='uploading')
    uploads = launcher.images.uploads
    attempts = []
    with launcher.context() as context, lockAsAnother(context, theirs):
        waitFor(lambda: theirs.is_locked)
        acquireLock = theirs.acquireLock
        theirs._set(acquireLock=lambda *args, **kwargs: attempts.append(
            theirs) or acquireLock(*args, **kwargs))
        theirs._set(is_locked=False)
        launcher.setState(artifact, 'ready')
        waitFor(lambda: attempts and not uploads.isFree(theirs))
        theirs._set(is_locked=False)
        for _ in range(20):
            launcher.images.reconcile()
        assert len(attempts) == 1
    launcher.waitForUploads('ready')


def test_artifact_locked_by_another_launcher_is_left_alone(
        launcher, rack, addArtifact):
    artifact = addArtifact()
    launcher.addUpload(artifact)
    in_queue = launcher.images.uploads.upload_uuids_in_queue
    with launcher.context() as context, lockAsAnother(context, artifact):
        launcher.setState(artifact, 'ready')
        waitFor(lambda: in_queue)
        waitFor(lambda: not in_queue)
        assert launcher.getStates() == ['pending']
    launcher.waitForUploads('ready')


# The end

def test_stop_ends_a_download(launcher, rack, server, addArtifact, tmp_path):
    server.answers.clear()
    uploaded, = upload(launcher, addArtifact())
    waitFor(lambda: server.requests)
    launcher.images.stop()
    server.answers.set()
    launcher.images.join(TIMEOUT)
    assert launcher.getStates() == ['pending']
    assert not uploaded.hasLock()
    # It has not tried anything else.
    assert (gets(server), rack.calls) == (['/image'], [])
    assert not list(tmp_path.iterdir())


def test_deletion_of_a_build_ends_its_download(
        launcher, rack, server, addArtifact, tmp_path):
    server.drips = True
    artifact = addArtifact()
    upload(launcher, artifact)
    waitFor(lambda: gets(server))
    launcher.setState(artifact, 'deleting')
    # Long before the file has arrived.
    waitFor(lambda: not launcher.getUploads())
    assert rack.calls == []
    waitFor(lambda: not list(tmp_path.iterdir()))


def test_deletion_of_a_build_ends_its_uploads(launcher, rack, addArtifact):
    """Those that have begun end in their cloud, and no job validates them."""
    rack.answers.clear()
    artifact = addArtifact()
    upload(launcher, artifact, *['rack'] * 7)
    waitFor(lambda: len(rack.calls) == 5)
    launcher.setState(artifact, 'deleting')
    rack.answers.set()
    waitFor(lambda: not launcher.getUploads())
    assert sorted(rack.calls) == ['delete'] * 5 + ['upload'] * 5
    assert rack.images == {}
    assert launcher.getEvents() == []


def test_stop_does_not_wait_for_queued_uploads(launcher, rack, addArtifact):
    rack.answers.clear()
    artifact = addArtifact()
    uploads = upload(launcher, artifact, *['rack'] * 7)
    waitFor(lambda: len(rack.calls) == 5)
    launcher.images.stop()
    rack.answers.set()
    launcher.images.join(TIMEOUT)
    # What has been uploaded is not forgotten, the rest has not begun.
    assert launcher.getStates() == ['pending'] * 2 + ['ready'] * 5
    assert len(rack.calls) == 5
    assert not any(each.hasLock() for each in uploads)


# Files

@pytest.mark.parametrize('name', [
    'image.gz', 'image.raw', 'IMAGE.GZ', 'image.img', 'image.qcow2.xz'])
@pytest.mark.parametrize('compress', [
    gzip.compress, lzma.compress, bz2.compress])
def test_a_compressed_artifact(
        launcher, rack, server, addArtifact, tmp_path, name, compress):
    """Whatever it is called."""
    server.files[name] = compress(IMAGE)
    upload(launcher, addArtifact(f'/{name}?token=1'))
    launcher.waitForUploads('ready')
    assert list(rack.images.values()) == [IMAGE]
    waitFor(lambda: not list(tmp_path.iterdir()))


def test_an_artifact_whose_record_has_no_format_is_uploaded(
        launcher, rack, addArtifact):
    upload(launcher, addArtifact(format=None))
    launcher.waitForUploads('ready')
    assert list(rack.images.values()) == [IMAGE]


@pytest.mark.parametrize('data', [b'', gzip.compress(b'', mtime=0)])
@pytest.mark.parametrize('sha256', [None, hashlib.sha256(b'').hexdigest()])
def test_nothing_is_no_image(
        launcher, rack, server, addArtifact, data, sha256):
    """Not even one with the right checksum."""
    server.files['empty'] = data
    upload(launcher, addArtifact('/empty', sha256=sha256))
    launcher.waitForUploads('failed')
    failed, = launcher.getUploads()
    assert failed.attempt == SETTINGS.upload_attempts - 1
    assert 'empty' in getRemark(launcher, failed)
    assert rack.calls == []


def test_an_artifact_that_is_too_large(launcher, rack, addArtifact, caplog):
    launcher.change(image_size_limit=999)
    upload(launcher, addArtifact())
    launcher.waitForUploads('failed')
    assert '"image_size_limit"' in caplog.text
    assert rack.images == {}


def test_an_endpoint_that_is_not_started(launcher, rack, addArtifact):
    """Uploads wait for it, also where they share an artifact."""
    endpoint = launcher.getProvider().getEndpoint()
    endpoint.started = False
    upload(launcher, addArtifact(), 'rack', 'other')
    launcher.waitForUploads('pending', 'ready')
    assert rack.calls == []
    endpoint.start()
    launcher.queue.add(KEY)
    launcher.waitForUploads('ready', 'ready')


def test_a_delete_starts_the_endpoint(launcher):
    """It may be a former one, of which nobody has asked anything."""
    old = launcher.addReady('image')
    endpoint = launcher.getProvider().getEndpoint()
    endpoint.started = False
    launcher.setState(old, 'deleting')
    waitFor(lambda: not launcher.getUploads())
    assert endpoint.started
