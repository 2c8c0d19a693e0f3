"""The files of deleted builds are deleted by jobs, or left behind."""

import contextlib
import json

from kazoo.exceptions import BadVersionError
import pytest
from zuul.zk.exceptions import LockException

from tests.fixtures.imagetenants import (
    addArtifact,
    getAsked,
    passOn,
    publish,
    writeTenants,
)
from tests.fixtures.pipelines import PIPELINES
from tests.fixtures.waiting import waitFor
from zuul_nodes import gonefiles, imageevents, leftfiles
from zuul_nodes.imageevents import EventKind
from zuul_nodes.launcher.images import KEY

DELETE = 'image-delete'
PROBLEM = 'delete-debian: FAILURE'
AT_ONCE = pytest.mark.settings(
    image_first_backoff=0, image_longest_backoff=0)


@pytest.fixture
def launcher(image_launcher):
    image_launcher.setLayout(None)
    return image_launcher


def delete(launcher, tenants='a rack d', **kwargs):
    """:return: a build that is being deleted."""
    writeTenants(launcher, tenants)
    launcher.queue.start()
    return addArtifact(launcher, _state='deleting', **kwargs)


def getClient(launcher):
    return launcher.zk_client.client


def isThere(launcher, artifact):
    return bool(getClient(launcher).exists(artifact.getPath()))


def answer(launcher, artifact, tenant, problem=PROBLEM):
    """Wait until a tenant is asked, and have its job end."""
    waitFor(lambda: getAsked(launcher, DELETE) == [tenant])
    imageevents.noteDeletion(getClient(launcher), artifact.uuid, problem)
    passOn(launcher, tenant)
    launcher.queue.add(KEY)


def getLeft(launcher):
    return [(each['uuid'], each['cause'], each['reason'])
            for each in leftfiles.readAll(getClient(launcher))]


def getSent(launcher, artifact):
    return imageevents.read(
        getClient(launcher), EventKind.DELETE, artifact.uuid)


def work(launcher):
    """Have the launcher check all images, and wait for its deletions."""
    launcher.images.reconcile()
    deletion = launcher.images.retention.deletion
    waitFor(lambda: not deletion.uuids_in_queue)


def test_record_stays_while_the_file_is_not_deleted(launcher):
    artifact = delete(launcher)
    answer(launcher, artifact, 'a')
    waitFor(lambda: getAsked(launcher, DELETE) == [])
    work(launcher)
    # It is asked again after minutes.
    assert isThere(launcher, artifact)
    assert getAsked(launcher, DELETE) == []
    sent = getSent(launcher, artifact)
    assert (sent.attempt, sent.problem) == (1, PROBLEM)


@AT_ONCE
def test_other_tenants_are_asked_in_turn(launcher):
    artifact = delete(launcher, 'a rack d, b rack d, c - d, e rack bv')
    for name in 'abca':
        answer(launcher, artifact, name)
    answer(launcher, artifact, 'b', None)
    waitFor(lambda: not isThere(launcher, artifact))
    assert getLeft(launcher) == []
    waitFor(lambda: not launcher.jobs.events.getKeys(DELETE))


@AT_ONCE
def test_tenant_that_lost_the_image_is_asked_last(launcher):
    writeTenants(launcher, 'a rack d, b rack d')
    artifact = addArtifact(launcher)
    launcher.pipelines.publish(tenant='a', pipelines=PIPELINES, images={})
    launcher.queue.start()
    launcher.setState(artifact, 'deleting')
    answer(launcher, artifact, 'b')
    answer(launcher, artifact, 'a')
    answer(launcher, artifact, 'b', None)
    waitFor(lambda: not isThere(launcher, artifact))


@AT_ONCE
def test_job_without_result_has_not_deleted_the_file(launcher):
    artifact = delete(launcher, 'a rack d, b rack d')
    waitFor(lambda: getAsked(launcher, DELETE) == ['a'])
    # An operator has removed the item, for example.
    passOn(launcher, 'a')
    launcher.queue.add(KEY)
    answer(launcher, artifact, 'b', None)
    waitFor(lambda: not isThere(launcher, artifact))


@pytest.mark.settings(image_first_backoff=0, image_longest_backoff=0,
                      image_delete_attempts=2)
@pytest.mark.parametrize('problem, reason', [
    (PROBLEM, PROBLEM),
    (None, 'the job of the tenant a has ended without result')])
def test_file_is_left_behind_in_the_end(launcher, problem, reason):
    artifact = delete(launcher)
    for _ in range(2):
        waitFor(lambda: getAsked(launcher, DELETE) == ['a'])
        if problem:
            imageevents.noteDeletion(
                getClient(launcher), artifact.uuid, problem)
        passOn(launcher, 'a')
        launcher.queue.add(KEY)
    waitFor(lambda: not isThere(launcher, artifact))
    assert getLeft(launcher) == [(artifact.uuid, 'failed', reason)]
    assert getAsked(launcher, DELETE) == []


@pytest.mark.settings(image_first_backoff=0, image_longest_backoff=0,
                      image_delete_attempts=1)
def test_each_tenant_gets_a_turn_before_a_file_is_left_behind(launcher):
    artifact = delete(launcher, 'a rack d, b rack d, c rack d')
    for name in 'abc':
        assert getLeft(launcher) == []
        answer(launcher, artifact, name)
    waitFor(lambda: not isThere(launcher, artifact))
    assert len(getLeft(launcher)) == 1


@pytest.mark.settings(image_delete_attempts=1)
def test_file_that_is_known_to_be_gone_is_not_left_behind(launcher):
    artifact = delete(launcher)
    gonefiles.write(getClient(launcher), artifact.uuid, 'status 404')
    waitFor(launcher.records.gone_files.get)
    answer(launcher, artifact, 'a')
    waitFor(lambda: not isThere(launcher, artifact))
    assert getLeft(launcher) == []


def test_snapshot_has_no_file_to_delete(launcher):
    artifact = delete(launcher, format='snapshot')
    waitFor(lambda: not isThere(launcher, artifact))
    assert getAsked(launcher, DELETE) == getLeft(launcher) == []


def test_wait_for_a_job_has_an_end(launcher):
    """The errors of a tenant do not keep the builds of all others."""
    writeTenants(launcher, 'a rack -')
    launcher.change(unneeded_image_delay=0.2)
    launcher.pipelines.publish(
        tenant='a', pipelines=PIPELINES | {DELETE: []},
        broken=['example.com/nodes'])
    artifact = addArtifact(launcher, _state='deleting')
    launcher.queue.start()
    launcher.queue.add(KEY)
    waitFor(lambda: not isThere(launcher, artifact))
    assert [each[1] for each in getLeft(launcher)] == ['no-job']


def test_back_off_begins_when_the_job_ends(launcher):
    artifact = delete(launcher)
    waitFor(lambda: getAsked(launcher, DELETE) == ['a'])
    client = getClient(launcher)
    path = imageevents.getPath(EventKind.DELETE, artifact.uuid)
    # It has waited for a node for hours.
    client.set(path, imageevents.makeRecord(
        getSent(launcher, artifact)._replace(time=1)))
    imageevents.noteDeletion(client, artifact.uuid, PROBLEM)
    passOn(launcher, 'a')
    work(launcher)
    assert getAsked(launcher, DELETE) == []


@AT_ONCE
def test_problem_is_that_of_the_last_job(launcher):
    artifact = delete(launcher, 'a rack d, b rack d')
    answer(launcher, artifact, 'a')
    waitFor(lambda: getAsked(launcher, DELETE) == ['b'])
    assert getSent(launcher, artifact)[-2:] == (False, None)


def test_a_check_looks_once_for_all_events_of_a_tenant(
        launcher, monkeypatch):
    writeTenants(launcher, 'a rack d')
    launcher.queue.start()
    for _ in range(8):
        addArtifact(launcher, _state='deleting')
    launcher.queue.add(KEY)
    waitFor(lambda: len(getAsked(launcher, DELETE)) == 8)
    launcher.queue.stop()
    launcher.queue.join()
    reads, client = [], getClient(launcher)
    get = client.get
    monkeypatch.setattr(client, 'get', lambda path, *args, **kwargs: (
        reads.append(path), get(path, *args, **kwargs))[1])
    launcher.images.retention.reconcile()
    queued = [path for path in reads if '/events/' in path]
    assert 8 <= len(queued) == len(set(queued))


def test_job_that_gets_the_pipeline_later_deletes_the_file(launcher):
    writeTenants(launcher, 'a rack -')
    launcher.pipelines.publish(
        tenant='a', pipelines=PIPELINES, images={},
        broken=['example.com/nodes'])
    artifact = addArtifact(launcher, _state='deleting', build_tenant='b')
    launcher.queue.start()
    work(launcher)
    assert isThere(launcher, artifact)
    publish(launcher, 'a', 'd')
    launcher.queue.add(KEY)
    answer(launcher, artifact, 'a', None)
    waitFor(lambda: not isThere(launcher, artifact))


# A file of several builds

SAME = [
    ('https://host/a.raw', 'https://host/a.raw'),
    ('https://host/a.raw', 'https://HOST:443/a.raw'),
    ('http://host:80/%61.raw', 'http://host/a.raw'),
]
OTHER = [
    ('https://host/a.raw', 'http://host/a.raw'),
    ('https://host/a.raw', 'https://host:8443/a.raw'),
    ('https://host/get?id=1', 'https://host/get?id=2'),
    ('https://host/a.raw', 'https://host/A.raw'),
]


@pytest.mark.parametrize('state', ['ready', None])
@pytest.mark.parametrize('url, other', SAME)
def test_file_that_another_build_has_is_not_deleted(
        launcher, state, url, other):
    writeTenants(launcher, 'a rack d')
    # Of any image and tenant.
    addArtifact(launcher, 'b', _state=state, url=other, name='fedora',
                canonical_name='example.com%2Fother/fedora')
    artifact = delete(launcher, url=url)
    waitFor(lambda: not isThere(launcher, artifact))
    assert getAsked(launcher, DELETE) == getLeft(launcher) == []


@pytest.mark.parametrize('url, other', OTHER)
def test_other_file_is_deleted(launcher, url, other):
    writeTenants(launcher, 'a rack d')
    addArtifact(launcher, url=other)
    delete(launcher, url=url)
    waitFor(lambda: getAsked(launcher, DELETE) == ['a'])


def test_two_builds_that_go_together_do_not_rely_on_each_other(
        launcher, monkeypatch):
    """Neither was being deleted when the launcher looked."""
    writeTenants(launcher, 'a rack d')
    artifacts = [addArtifact(launcher, url='https://host/latest',
                             timestamp=number) for number in (1, 2)]
    deletion = launcher.images.retention.deletion.artifacts
    with launcher.context() as context, contextlib.ExitStack() as stack:
        locks = [stack.enter_context(each.locked(context))
                 for each in artifacts]
        contexts = [stack.enter_context(
            launcher.session.context(lock, deletion.log)) for lock in locks]
        # What it has seen before the other one went.
        entries = dict(launcher.builds.entries)
        monkeypatch.setattr('zuul_nodes.launcher.images.artifactdeletion.sync',
                            lambda *_: launcher.builds.entries.update(entries))
        deletion.delete(contexts[0], artifacts[0])
        assert not isThere(launcher, artifacts[0])
        with pytest.raises(LockException):
            deletion.delete(contexts[1], artifacts[1])
    assert isThere(launcher, artifacts[1])
    assert getAsked(launcher, DELETE) == []
    monkeypatch.undo()
    launcher.builds.entries.pop((artifacts[0].uuid,), None)
    with launcher.context() as context, \
            artifacts[1].locked(context) as lock, \
            launcher.session.context(lock, deletion.log) as own:
        deletion.delete(own, artifacts[1])
    assert getAsked(launcher, DELETE) == ['a']


def test_last_of_several_builds_deletes_their_file(launcher):
    writeTenants(launcher, 'a rack d')
    artifacts = [addArtifact(launcher, _state='deleting',
                             url='https://host/latest') for _ in range(3)]
    launcher.queue.start()
    launcher.queue.add(KEY)
    waitFor(lambda: sum(isThere(launcher, each) for each in artifacts) == 1)
    last, = [each for each in artifacts if isThere(launcher, each)]
    answer(launcher, last, 'a', None)
    waitFor(lambda: not isThere(launcher, last))


# The records

def test_result_survives_that_a_launcher_writes_the_record(
        launcher, monkeypatch):
    """They write it at the same time."""
    artifact = delete(launcher)
    waitFor(lambda: getAsked(launcher, DELETE) == ['a'])
    client = getClient(launcher)
    path = imageevents.getPath(EventKind.DELETE, artifact.uuid)
    write = client.set
    others = [lambda: write(path, imageevents.makeRecord(
        getSent(launcher, artifact)._replace(attempt=7)))]

    def set_late(*args):
        while others:
            others.pop()()
        return write(*args)
    with monkeypatch.context() as patch:
        patch.setattr(client, 'set', set_late)
        imageevents.noteDeletion(client, artifact.uuid, PROBLEM)
    sent = getSent(launcher, artifact)
    assert (sent.attempt, sent.problem) == (7, PROBLEM)
    with pytest.raises(BadVersionError):
        client.set(path, b'{}', 0)


def test_success_is_not_forgotten(launcher):
    """A scheduler reports again after it was stopped."""
    artifact = delete(launcher)
    waitFor(lambda: getAsked(launcher, DELETE) == ['a'])
    launcher.queue.stop()
    launcher.queue.join()
    for problem in (None, PROBLEM):
        imageevents.noteDeletion(getClient(launcher), artifact.uuid, problem)
    assert getSent(launcher, artifact).is_deleted


def test_result_without_event_is_not_recorded(launcher):
    imageevents.noteDeletion(getClient(launcher), 32 * '0', None)
    assert imageevents.read(
        getClient(launcher), EventKind.DELETE, 32 * '0') is None


def test_record_of_last_release_is_read(launcher):
    client = getClient(launcher)
    client.create(imageevents.getPath(EventKind.DELETE, 'x'), json.dumps(
        {'tenant': 'a', 'attempt': 1, 'time': 2.5}).encode(), makepath=True)
    assert imageevents.read(client, EventKind.DELETE, 'x') == (
        'a', 1, 2.5, 0, False, None)


def test_files_left_behind_do_not_pile_up(launcher, monkeypatch):
    monkeypatch.setattr(leftfiles, 'MOST', 2)
    writeTenants(launcher, 'a rack -')
    artifacts = [addArtifact(launcher) for _ in range(3)]
    client = getClient(launcher)
    for _ in range(2):
        # A launcher was killed after it had written the record.
        assert leftfiles.write(
            client, artifacts[0], leftfiles.Cause.FAILED, 'again')
    assert [leftfiles.write(client, each, cause, 'full')
            for each in artifacts for cause in leftfiles.Cause] == [
        True, True, True, True, False, False]
    leftfiles.forget(client, artifacts[0].uuid)
    assert {each['uuid'] for each in leftfiles.readAll(client)} == {
        artifacts[1].uuid}
