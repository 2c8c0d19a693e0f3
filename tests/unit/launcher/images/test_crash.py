"""Launchers and schedulers die while images come and go."""

import contextlib
import itertools
import threading

import pytest
from zuul.model import ImageUpload

from tests.fixtures import imagecrash
from tests.fixtures.crash import crashEverywhere, hurry
from tests.fixtures.fuse import TIMEOUT
from tests.fixtures.imagecrash import ImageWorld
from tests.fixtures.settings import writeSettings

pytestmark = pytest.mark.crash


@pytest.fixture
def makeImageWorld(zuul_conf, tmp_path, monkeypatch, file_server):
    """:return: a function that makes an :class:`ImageWorld`, where each of
        the providers has one build of the image in service, or more."""
    imagecrash.install(monkeypatch.setattr)
    # An event is sent as soon as there is none.
    writeSettings(
        zuul_conf, upload_first_backoff=0.001, image_lock_backoff=0.01,
        image_settle_time=0, image_first_backoff=0)

    def make(*names, builds=1, refused=0):
        file_server.files.clear()
        world = ImageWorld(zuul_conf, tmp_path, file_server, names)
        stack.callback(world.end)
        world._wanted = 1
        world.rest(image_build=1, image_validate=len(names))
        for _ in range(builds - 1):
            world.build()
            world.rest(image_validate=len(names))
        for _ in range(refused):
            world.build(*names)
            world.rest(image_validate=len(names))
        assert not world.problems
        return world
    with hurry(monkeypatch), contextlib.ExitStack() as stack:
        yield make


def liveWithMissingImage(world):
    """A user has deleted all there was of it."""
    world.discard()
    world.rest(image_build=1, image_validate=1, image_delete=1)


def liveWithThirdBuild(world):
    """The first of those in service is retired.  The cloud fails once, and
    there is something left of that."""
    world.clouds['rack'].failures = 1
    world.build()
    world.rest(image_validate=1, image_delete=1)


def liveWithRefusedBuild(world):
    """The one that is in service stays there; of those refused, the one
    before goes."""
    world.build('rack')
    world.rest(image_validate=1, image_delete=1)


def liveWithTwoClouds(world):
    """What one of them refuses, the other one has until it is retired."""
    world.build('rack')
    world.rest(image_validate=2)
    world.build()
    world.rest(image_validate=2, image_delete=1)
    world.build()
    world.rest(image_validate=2, image_delete=2)


# Name -> life, what there is at first, and how many points
# there are at least, of a launcher and of a scheduler.
LIVES = {
    'missing': (liveWithMissingImage, {}, 15, 25),
    'third': (liveWithThirdBuild, {'builds': 2}, 20, 20),
    'refused': (liveWithRefusedBuild, {'refused': 1}, 15, 20),
}


@pytest.mark.seconds(180)
@pytest.mark.parametrize(
    'live, first, number',
    [(live, first, number) for live, first, number, _ in LIVES.values()],
    ids=LIVES)
def test_launcher_killed_at_any_point(makeImageWorld, live, first, number):
    points, failures = crashEverywhere(
        lambda: makeImageWorld('rack', **first), live)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    # Otherwise most of what it does was not seen.
    assert len(points) >= number


@pytest.mark.seconds(150)
@pytest.mark.parametrize('name', ['missing', 'refused'])
def test_scheduler_killed_at_any_point(makeImageWorld, name):
    live, first, _, number = LIVES[name]
    points, failures = crashEverywhere(
        lambda: makeImageWorld('rack', **first), live,
        getFuse=lambda world: world.scheduler.fuse)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    assert len(points) >= number


@pytest.mark.parametrize('after', [False, True])
def test_launchers_killed_again_and_again_make_progress(makeImageWorld, after):
    """Each launcher gets a few steps further than the one before it."""
    world = makeImageWorld('rack', 'other', builds=2)
    world.lifetimes = ((number, after) for number in itertools.count(2))
    world.launcher.fuse.arm(1, after)
    liveWithTwoClouds(world)
    assert not world.problems
    assert world.deaths >= 5


def test_image_of_upload_that_was_given_up_is_deleted(makeImageWorld):
    """Nothing else is deleted."""
    world = makeImageWorld('rack', builds=2)
    cloud, late = world.clouds['rack'], threading.Event()
    cloud.delays = [late]
    calls = world.launcher.images.uploads.calls
    calls.timeout = 0.5
    world.build()
    world.rest(image_validate=1, image_delete=1)
    assert calls.given_up.total() == 1
    images = set(cloud.images)
    late.set()
    world.runUntil(lambda: not calls.given_up.total(), lambda: 'it hangs')
    assert len(images) == 2
    assert images < set(cloud.images)
    world.rest()
    assert images == set(cloud.images)
    assert not world.problems


def test_launcher_does_not_repeat_delete_event_of_another(
        image_launcher, pipelines):
    """The other launcher sends the event after this one has decided that the
    artifact goes, and before this one has the lock."""
    artifact, _ = (image_launcher.addArtifact('fedora', timestamp=number)
                   for number in (1, 2))
    deletion = image_launcher.images.retention.deletion.artifacts
    with image_launcher.context() as context, \
            artifact.locked(context) as lock, \
            image_launcher.session.context(lock, deletion.log) as own:
        for _ in range(2):
            deletion.delete(own, artifact)
            assert artifact.exists(context)
        item, = pipelines.take()
        pipelines.delete(item)
        deletion.delete(own, artifact)
        assert not artifact.exists(context)


def test_event_of_upload_that_becomes_ready_meanwhile_is_kept(
        image_launcher, pipelines, monkeypatch):
    """The launcher does not know yet that the upload is ready."""
    upload = image_launcher.addUpload(
        image_launcher.addArtifact(), _state='uploading')
    events = image_launcher.jobs.events
    registry = image_launcher.uploads
    known = threading.Event()

    def beLate(*args):
        assert known.wait(TIMEOUT)
        return updateFromRaw(*args)

    def sync(*args):
        known.set()
        return waitForSync(*args)

    def makeReady(kind):
        # To announce it asks for the same.
        monkeypatch.setattr(events, 'getKeys', getKeys)
        other = ImageUpload()
        other._set(uuid=upload.uuid)
        with image_launcher.context() as context:
            other.refresh(context)
            image_launcher.images.uploads._recordReady(
                context, other, 'image')
        return getKeys(kind)
    updateFromRaw, waitForSync = registry.updateFromRaw, registry.waitForSync
    monkeypatch.setattr(registry, 'updateFromRaw', beLate)
    monkeypatch.setattr(registry, 'waitForSync', sync)
    getKeys = events.getKeys
    monkeypatch.setattr(events, 'getKeys', makeReady)
    image_launcher.images.validation.reconcile([upload])
    known.set()
    assert getKeys('image-validate') == {upload.uuid}
