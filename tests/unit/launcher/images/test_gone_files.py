"""The record of a build is there, but its file is not any more."""

import logging

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.provider import BaseImageImportJob

from tests.fixtures.images import IMAGE, LAYOUT, PROVIDER
from tests.fixtures.waiting import waitFor
from zuul_nodes import gonefiles, imagecontrols
from zuul_nodes.drivers import GoneError, PermanentError
from zuul_nodes.launcher.images import KEY
from zuul_nodes.launcher.providers.failures import isGone
from zuul_nodes.launcher.settings import Settings

BUILD = ['debian']
# It needs no other image.
PROVIDER = PROVIDER.replace('      - fedora\n', '').replace(', fedora', '')


def setNames(launcher, *names, tenant='tenant'):
    launcher.setLayout(LAYOUT + ''.join(
        PROVIDER.replace('NAME', name) for name in names), tenant)


@pytest.fixture
def launcher(image_launcher, pipelines):
    """A launcher that does what a test tells it."""
    setNames(image_launcher, 'rack', 'other')
    return image_launcher


@pytest.fixture
def addBuild(launcher, server):
    """:return: a function that adds a build with its uploads, which are to
    have failed or to be ready then; a path on the server, and names of
    providers.  From then on, the launcher goes on by itself."""
    started = []

    def add(path, *names, state='failed', **kwargs):
        before = launcher.getStates()
        artifact = launcher.addArtifact(
            state=None, url=f'{server.url}{path}', **kwargs)
        for name in names or ['rack']:
            launcher.addUpload(artifact, name)
        if not started:
            launcher.queue.start()
            started.append(True)
        launcher.setState(artifact, 'ready')
        launcher.waitForUploads(*before, *[state] * len(names or ['rack']))
        return artifact
    return add


def addGone(launcher, *names, **kwargs):
    """:return: a build whose uploads have found no file."""
    artifact = launcher.addArtifact(**kwargs)
    gonefiles.write(launcher.zk_client.client, artifact.uuid, 'gone')
    for name in names or ['rack']:
        launcher.addUpload(artifact, name, _state='failed', attempt=2)
    return artifact


def getGone(launcher):
    return gonefiles.getIds(launcher.zk_client.client)


def getBuilds(launcher, pipelines):
    """:return: the builds that a launcher asks for."""
    launcher.images.builds.reconcile()
    return pipelines.getEvents('image-build')


# The record

@pytest.mark.parametrize('status', [404, 410])
def test_all_launchers_are_told(launcher, server, addBuild, log, status):
    server.failures = [status]
    artifact = addBuild('/image?token=secret', 'rack', 'other')
    assert getGone(launcher) == {artifact.uuid}
    reason = gonefiles.read(launcher.zk_client.client, artifact.uuid)
    assert f'{status} Client Error' in reason
    assert 'secret' not in reason + log.text
    warning, = (record.getMessage() for record in log.records
                if record.levelno == logging.WARNING)
    assert artifact.uuid in warning
    assert 'is gone' in warning


@pytest.mark.settings(first_backoff=0)
@pytest.mark.parametrize('status', [400, 401, 403, 500, 503])
def test_another_answer_does_not_tell_that_it_is_gone(
        launcher, pipelines, server, addBuild, status):
    server.failures = [status] * 100
    addBuild('/image')
    assert not getGone(launcher)
    assert getBuilds(launcher, pipelines) == []


class Answer(Exception):
    """Of a library of a cloud's."""

    def __init__(self, status_code):
        self.status_code = status_code


@pytest.mark.parametrize('errors, is_gone', [
    ([ValueError(), GoneError('It is not there.')], True),
    ([GoneError('It is not there.'), Answer(403)], False),
    ([Answer(404)], True), ([ValueError(), Answer(410)], True),
    ([Answer(404), Answer(404)], True), ([ValueError()], False),
    ([PermanentError('It may not be had from there.'), Answer(404)], True),
    ([Answer(404), Answer(403)], False), ([Answer(404), Answer(503)], False),
    ([Answer(404), TimeoutError()], False)], ids=repr)
def test_all_who_can_get_at_it_have_to_say_so(errors, is_gone):
    assert isGone(errors) is is_gone


def test_a_driver_may_still_have_it(launcher, server, addBuild):
    def downloadUrl(url, path):
        with open(path, 'wb') as file:
            file.write(IMAGE)
        return path
    launcher.getProvider()._set(downloadUrl=downloadUrl)
    addBuild('/gone', state='ready')
    assert not getGone(launcher)


class ImportJob(BaseImageImportJob):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def run(self):
        if self.error:
            raise self.error
        return 'image'


@pytest.fixture
def setImport(launcher):
    """:return: a function that sets what an import raises, or None if it
    makes an image; and what it raises before it has begun."""
    def set(error, early=None):
        def getJob(*args):
            if early:
                raise early
            return ImportJob(error)
        launcher.getProvider()._set(getImageImportJob=getJob)
    return set


@pytest.mark.parametrize('is_early', [False, True])
def test_a_driver_says_so_of_what_it_imports(
        launcher, pipelines, addBuild, setImport, log, is_early):
    error = GoneError('The bucket has no disk.raw?token=secret any more.')
    setImport(error, error if is_early else None)
    artifact = addBuild('/image')
    assert getGone(launcher) == {artifact.uuid}
    reason = gonefiles.read(launcher.zk_client.client, artifact.uuid)
    assert 'The bucket has no disk.raw' in reason
    assert 'secret' not in reason + log.text
    waitFor(lambda: pipelines.getEvents('image-build') == [BUILD])


def test_other_failures_of_imports_say_nothing_of_the_file(
        launcher, addBuild, setImport):
    setImport(PermanentError('This format cannot be imported.'))
    addBuild('/image')
    assert not getGone(launcher)


def test_an_import_finds_it_again(launcher, addBuild, setImport):
    """An operator has had it tried once more."""
    setImport(GoneError('It is not there.'))
    addBuild('/image')
    assert getGone(launcher)
    setImport(None)
    failed, = launcher.getUploads()
    with launcher.context() as context:
        failed.updateAttributes(
            context, attempt=0, _state=failed.State.PENDING)
    launcher.waitForUploads('ready')
    assert not getGone(launcher)


def test_a_record_that_was_not_written_is_written_later(
        launcher, pipelines, addBuild, monkeypatch, jump):
    def fail(*args):
        raise ConnectionLoss
    with monkeypatch.context() as context:
        context.setattr(gonefiles, 'write', fail)
        artifact = addBuild('/gone')
    assert not getGone(launcher)
    jump(Settings.image_longest_backoff)
    launcher.queue.add(KEY)
    waitFor(lambda: getGone(launcher) == {artifact.uuid})


def test_the_record_goes_with_that_of_the_build(launcher, addBuild):
    artifact = addBuild('/gone')
    with launcher.context() as context:
        artifact.delete(context)
    waitFor(lambda: not getGone(launcher))


# The next build

def test_the_image_is_built_anew(launcher, pipelines, addBuild, jump):
    """By one event, however often it is looked at."""
    addBuild('/gone', 'rack', 'other')
    waitFor(lambda: pipelines.getEvents('image-build') == [BUILD])
    for _ in range(3):
        jump(Settings.image_longest_backoff)
        assert getBuilds(launcher, pipelines) == [BUILD]


def test_there_are_no_retries_until_an_operator_wants_one(
        launcher, server, addBuild, jump):
    artifact = addBuild('/late')
    asked = len(server.requests)
    jump(Settings.image_longest_backoff)
    launcher.images.reconcile()
    failed, = launcher.getUploads()
    assert (failed.state, len(server.requests)) == ('failed', asked)
    server.files['late'] = IMAGE
    # As "zuul-nodes images validate" does it.
    with launcher.context() as context:
        failed.updateAttributes(
            context, attempt=0, _state=failed.State.PENDING)
    launcher.waitForUploads('ready')
    assert not getGone(launcher)
    assert failed.artifact_uuid == artifact.uuid


def test_builds_whose_files_go_are_repeated_with_back_off(
        launcher, pipelines, jump):
    """Though each build leaves a record, and its file goes."""
    elapsed = 0
    addGone(launcher)
    for pause in (300, 600, 1200, 2400):
        assert getBuilds(launcher, pipelines) == [BUILD]
        item, = pipelines.take()
        assert getBuilds(launcher, pipelines) == []
        pipelines.finish(item)
        # For a moment, it seems to be there.
        artifact = launcher.addArtifact()
        assert getBuilds(launcher, pipelines) == []
        gonefiles.write(launcher.zk_client.client, artifact.uuid, 'gone')
        jump(elapsed + pause - 60)
        assert getBuilds(launcher, pipelines) == []
        elapsed += pause + 60
        jump(elapsed)


def test_the_pause_stays_until_each_endpoint_has_it(
        launcher, pipelines):
    """Another endpoint has a good one all the time."""
    events = launcher.jobs.events
    good = launcher.addReady('good')
    gonefiles.write(launcher.zk_client.client, good.artifact_uuid, 'gone')
    assert getBuilds(launcher, pipelines) == [BUILD]
    artifact = launcher.addArtifact()
    upload = launcher.addUpload(
        artifact, 'other', external_id='new', _state='ready')
    launcher.images.builds.reconcile()
    assert events.getKeys('image-build')
    with launcher.context() as context:
        upload.updateAttributes(context, validated=True)
    launcher.images.builds.reconcile()
    assert not events.getKeys('image-build')


def test_two_launchers_ask_once(launcher, pipelines, monkeypatch):
    addGone(launcher)
    events = launcher.jobs.events
    get = events.get

    def beLate(kind, key):
        sent = get(kind, key)
        context.undo()
        launcher.images.builds.reconcile()
        return sent
    with monkeypatch.context() as context:
        context.setattr(events, 'get', beLate)
        assert getBuilds(launcher, pipelines) == [BUILD]


def test_a_tenant_that_can_build_it_is_asked(
        launcher, pipelines):
    """That of the build can do so no more."""
    setNames(launcher, 'rack', tenant='also')
    pipelines.publish(tenant='also')
    pipelines.publish(jobs=False)
    addGone(launcher)
    assert getBuilds(launcher, pipelines) == []
    assert pipelines.getEvents('image-build', 'also') == [BUILD]


def test_a_paused_image_is_not_built(launcher, pipelines):
    name = launcher.getProvider().images['debian'].canonical_name
    addGone(launcher)
    imagecontrols.add(launcher.zk_client.client,
                      imagecontrols.Control.PAUSED, name, '')
    waitFor(lambda: launcher.records.steering.isPaused(name))
    assert getBuilds(launcher, pipelines) == []


# What there is instead

def test_endpoints_that_have_the_image_need_no_file(
        launcher, pipelines):
    setNames(launcher, 'rack')
    upload = launcher.addReady('there')
    gonefiles.write(launcher.zk_client.client, upload.artifact_uuid, 'gone')
    assert getBuilds(launcher, pipelines) == []


def test_a_new_endpoint_needs_it(launcher, pipelines, server, addBuild):
    setNames(launcher, 'rack')
    addBuild('/image', state='ready')
    # What has an upload validated is not a build.
    pipelines.finish(*pipelines.take())
    del server.files['image']
    assert getBuilds(launcher, pipelines) == []
    setNames(launcher, 'rack', 'other')
    launcher.distribution.reconcile()
    waitFor(lambda: pipelines.getEvents('image-build') == [BUILD])
    assert launcher.getStates() == ['failed', 'ready']


def test_an_older_build_is_used_where_its_file_is_there(
        launcher, pipelines, addBuild):
    """It is in service elsewhere already."""
    older = addBuild('/image', state='ready', timestamp=1)
    newer = addBuild('/gone', 'rack', 'other', timestamp=2)
    assert getGone(launcher) == {newer.uuid}
    assert getBuilds(launcher, pipelines) == []
    launcher.distribution.reconcile()
    launcher.waitForUploads('failed', 'failed', 'ready', 'ready')
    assert {upload.artifact_uuid for upload in launcher.getUploads()
            if upload.state == 'ready'} == {older.uuid}
    # Once.
    launcher.distribution.reconcile()
    assert len(launcher.getUploads()) == 4
    assert getBuilds(launcher, pipelines) == []


def test_another_build_need_not_go_where_the_newest_is(
        launcher, addBuild):
    addBuild('/image', 'other', state='ready', timestamp=1)
    newer = addBuild('/image', 'rack', state='ready', timestamp=2)
    gonefiles.write(launcher.zk_client.client, newer.uuid, 'gone')
    launcher.distribution.reconcile()
    assert launcher.getStates() == ['ready', 'ready']


def test_another_format_is_another_file(launcher, pipelines):
    launcher.addArtifact()
    addGone(launcher, format='vhd')
    assert getBuilds(launcher, pipelines) == []


def test_an_image_without_file_is_copied_from_another_cloud(
        launcher, pipelines, server):
    setNames(launcher, 'rack')
    upload = launcher.addReady('there')
    gonefiles.write(launcher.zk_client.client, upload.artifact_uuid, 'gone')
    setNames(launcher, 'rack', 'other')
    launcher.clouds['other'].sources = [
        launcher.getProvider('rack').canonical_name]
    launcher.distribution.reconcile()
    launcher.queue.start()
    launcher.waitForUploads('ready', 'ready')
    assert getBuilds(launcher, pipelines) == []


# What is left

def test_builds_without_files_do_not_pile_up(launcher, pipelines):
    """The last one stays for people, and for the pause before the next."""
    first = addGone(launcher, timestamp=1)
    second = addGone(launcher, timestamp=2)
    launcher.queue.start()
    waitFor(lambda: pipelines.getEvents('image-delete') == [first.uuid])
    assert [upload.artifact_uuid for upload in launcher.getUploads()] == [
        second.uuid]
    assert (first.state, second.state) == ('deleting', 'ready')


def test_a_build_without_file_stays_while_the_next_is_not_there(
        launcher, pipelines):
    first = addGone(launcher, timestamp=1)
    second = launcher.addArtifact(timestamp=2)
    launcher.queue.start()
    launcher.addUpload(second, external_id='1', _state='ready')
    # It has been looked at.
    waitFor(launcher.getEvents)
    assert not launcher.images.retention.deletion.uuids_in_queue
    assert first.state == 'ready'
