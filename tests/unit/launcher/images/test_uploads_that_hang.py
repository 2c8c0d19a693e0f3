"""Drivers that do not come to an end with an image."""

import pathlib
import threading
import types

import pytest

from tests.fixtures.images import IMAGE, TIMEOUT
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.images import uploads as uploads_module
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers.calls import Calls


@pytest.fixture
def launcher(image_launcher, server):
    """The cloud of ``rack`` hangs."""
    image_launcher.url = f'{server.url}/image'
    image_launcher.images.uploads.calls.timeout = 0.1
    image_launcher.clouds['rack'].answers.clear()
    image_launcher.queue.start()
    return image_launcher


@pytest.fixture
def rack(launcher):
    return launcher.clouds['rack']


def upload(launcher, *names, **attributes):
    """:return: a list of uploads of an artifact, in the order of names."""
    artifact = launcher.addArtifact(state=None, **{
        'url': launcher.url, **attributes})
    uploads = [launcher.addUpload(artifact, name) for name in names]
    launcher.setState(artifact, 'ready')
    return uploads


def useWay(launcher, way):
    """Have images get to the ``rack`` in a way."""
    provider = launcher.getProvider('rack')
    if way == 'import':
        provider._set(getImageImportJob=lambda url, image, name, *args:
                      types.SimpleNamespace(dependents=[], run=lambda:
                                            launcher.clouds['rack'].upload(
                                                name, IMAGE)))
    elif way == 'copy':
        launcher.clouds['rack'].sources = [
            launcher.getProvider('other').canonical_name]


@pytest.mark.parametrize('way', ['upload', 'import', 'copy'])
def test_hanging_upload_is_a_failed_attempt(
        launcher, rack, caplog, tmp_path, way):
    """Its result is ignored when it comes later, and what it took is there for
    other uploads."""
    useWay(launcher, way)
    uploads = launcher.images.uploads
    mine, _ = upload(launcher, 'rack', 'other')
    launcher.waitForUploads('failed', 'ready')
    assert rack.calls == ['upload'] * Settings.upload_attempts
    for threads in (uploads.artifact_places, uploads.upload_threads,
                    uploads.import_threads):
        waitFor(lambda threads=threads: not threads.working.total())
    waitFor(lambda: not list(tmp_path.iterdir()))
    reason = next(line for line in caplog.text.splitlines()
                  if line.startswith('TimeoutError'))
    for part in (f'{launcher.getProvider()} for the image '
                 f'{mine.canonical_name} at endpoint rack/rack has not '
                 'ended in 0.1 seconds', '"image_timeout"'):
        assert part in reason
    assert f'Unable to upload image <ImageUpload {mine.uuid}' in caplog.text
    rack.answers.set()
    waitFor(lambda: not uploads.calls.given_up.total())
    # For the clean-up, these are nobody's.
    assert len(rack.images) == Settings.upload_attempts
    launcher.waitForUploads('failed', 'ready')


@pytest.mark.settings(place_time=0.01)
def test_hanging_upload_does_not_delay_others(launcher, rack):
    """Not even if it has all artifacts that may be on disk."""
    launcher.images.uploads.calls.timeout = 2 * TIMEOUT
    for _ in range(uploads_module.ARTIFACTS):
        upload(launcher, 'rack')
    waitFor(lambda: len(rack.calls) == uploads_module.ARTIFACTS)
    other, = upload(launcher, 'other')
    waitFor(lambda: other.state == 'ready')
    assert launcher.getStates().count('uploading') == uploads_module.ARTIFACTS
    rack.answers.set()
    launcher.waitForUploads(*['ready'] * 3)


def test_endpoint_with_too_many_hanging_calls_gets_no_more(launcher, rack):
    """Until one of them has ended."""
    calls = launcher.images.uploads.calls
    calls.limit = 2
    upload(launcher, 'rack', 'other')
    launcher.waitForUploads('failed', 'ready')
    assert (rack.calls, Settings.upload_attempts) == (['upload'] * 2, 3)
    rack.answers.set()
    waitFor(lambda: not calls.given_up.total())
    upload(launcher, 'rack')
    launcher.waitForUploads('failed', 'ready', 'ready')


def test_call_that_raises_a_timeout_has_ended():
    def fail():
        raise TimeoutError('no answer')
    calls = Calls('image_timeout', TIMEOUT, 1)
    for _ in range(3):
        with pytest.raises(TimeoutError, match=r'^no answer$'):
            calls.call('rack', 'It', fail)


def test_driver_that_hangs_before_the_upload_delays_its_endpoint_only(
        launcher, rack, caplog):
    launcher.images.uploads.short_calls.timeout = 0.1
    launcher.getProvider()._set(getImageUploadJob=lambda *args: (
        rack.answers.wait(2 * TIMEOUT)))
    _, other = upload(launcher, 'rack', 'other')
    launcher.waitForUploads('failed', 'ready')
    assert other.state == 'ready'
    assert '"call_timeout"' in caplog.text


def test_hanging_download_by_a_driver_is_replaced(
        launcher, file_server, caplog):
    """The first download does not write into the file of the second."""
    paths, late = [], threading.Event()

    def hang(url, path):
        paths.append(path)
        assert late.wait(TIMEOUT)

    def download(url, path):
        paths.append(path)
        pathlib.Path(path).write_bytes(IMAGE)
        return path
    file_server.files.clear()
    launcher.getProvider('rack')._set(downloadUrl=hang)
    launcher.getProvider('other')._set(downloadUrl=download)
    upload(launcher, 'other')
    launcher.waitForUploads('ready')
    late.set()
    assert list(launcher.clouds['other'].images.values()) == [IMAGE]
    assert len(set(paths)) == 2
    assert f'downloadUrl of {launcher.getProvider()}' in caplog.text
    assert '"image_timeout"' in caplog.text
