"""When images are built, and when not."""

import time
import types

import pytest
from zuul.model import EventInfo

from tests.fixtures.images import LAYOUT
from tests.fixtures.pipelines import Pipelines
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.images import KEY
from zuul_nodes.launcher.settings import Settings

BUILD = ['debian']


@pytest.fixture
def launcher(image_launcher):
    """One that needs no image but debian."""
    image_launcher.fedora = image_launcher.addArtifact('fedora')
    return image_launcher


def reconcile(launcher):
    launcher.images.builds.reconcile()


def reconcileTwice(launcher, monkeypatch):
    """Two launchers begin to look at the same time."""
    events = launcher.jobs.events
    get = events.get

    def beLate(kind, key):
        sent = get(kind, key)
        context.undo()
        reconcile(launcher)
        return sent
    with monkeypatch.context() as context:
        context.setattr(events, 'get', beLate)
        reconcile(launcher)


def getSent(launcher):
    """:return: what is on record of the last build of debian."""
    return launcher.jobs.events.get(
        'image-build',
        launcher.getProvider().images['debian'].canonical_name)


def test_an_image_that_is_missing(launcher, pipelines):
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]
    event, = pipelines.events
    assert (event.project_hostname, event.project_name, event.branch) == (
        'example.com', 'nodes', 'main')


@pytest.mark.settings(image_settle_time=10)
def test_the_change_that_adds_an_image_may_have_it_built(
        launcher, pipelines):
    """In a pipeline that comes after the layout."""
    passed = []
    launcher.schedule.clock = lambda: sum(passed)
    reconcile(launcher)
    passed.append(9)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    assert KEY in launcher.queue.due
    artifact = launcher.addArtifact()
    reconcile(launcher)
    with launcher.context() as context:
        artifact.delete(context)
    waitFor(lambda: len(launcher.builds.getItems()) == 1)
    passed.append(2)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    passed.append(10)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]


def test_not_before_its_scheduler_has_said_what_there_is(launcher):
    pipelines = Pipelines(launcher)
    reconcile(launcher)
    pipelines.publish(layout_uuid='former')
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    launcher.queue.start()
    pipelines.publish()
    waitFor(lambda: pipelines.getEvents('image-build'))


def test_no_second_event_while_the_first_is_anywhere(
        launcher, pipelines, jump):
    reconcile(launcher)
    jump(Settings.image_longest_backoff)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]
    pipelines.forward()
    reconcile(launcher)
    item, = pipelines.enqueue()
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    pipelines.finish(item)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    jump(Settings.image_longest_backoff + Settings.image_first_backoff)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]


@pytest.mark.parametrize('state', [None, 'ready'])
def test_an_image_that_is_there(launcher, pipelines, state):
    launcher.addArtifact(state=state)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []


def test_a_format_that_is_missing(launcher, pipelines):
    launcher.addArtifact(format='vhd')
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]


@pytest.mark.parametrize('attributes, is_missing', [
    ({'_state': 'failed'}, False),
    ({'_state': 'ready', 'validated': None}, False),
    ({'_state': 'ready', 'validated': False}, False),
    ({'_state': 'failed', 'validated': False, 'build_uuid': '1'}, True)],
    ids=str)
def test_a_build_that_was_not_good(
        launcher, pipelines, attributes, is_missing):
    launcher.addUpload(launcher.addArtifact(), **attributes)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD] * is_missing


def test_an_image_that_no_provider_needs(launcher, pipelines):
    launcher.setLayout(LAYOUT)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []


@pytest.mark.parametrize('event, jobs, building', [
    ([], ['debian'], True), ([], ['fedora'], False), (['fedora'], [], False),
    ([], None, True),
    (['debian', 'fedora'], [], True)])
def test_a_build_that_another_event_has_begun_is_not_requested(
        launcher, pipelines, event, jobs, building):
    """By a timer, say, or by hand."""
    info = EventInfo()
    info.image_names = event or None
    pipelines.addItem('nightly', info, jobs)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD] * (not building)


def test_the_back_off_begins_at_the_end_of_a_build_that_others_began(
        launcher, pipelines, jump):
    """The pause begins when it has ended, not when it was first seen."""
    item = pipelines.addItem('nightly', jobs=['debian'])
    for seconds in range(0, 3600, 60):
        jump(seconds)
        reconcile(launcher)
    pipelines.finish(item)
    jump(3540 + Settings.image_first_backoff - 60)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    assert KEY in launcher.queue.due
    jump(3540 + Settings.image_first_backoff)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [BUILD]


def test_a_build_is_not_put_on_record_each_time(launcher, pipelines):
    pipelines.addItem('nightly', jobs=['debian'])
    reconcile(launcher)
    sent = getSent(launcher)
    reconcile(launcher)
    assert getSent(launcher) == sent


def test_two_launchers_see_one_build(launcher, pipelines, monkeypatch):
    """Neither complains of the other."""
    pipelines.addItem('nightly', jobs=['debian'])
    reconcileTwice(launcher, monkeypatch)
    assert getSent(launcher).version == 0


def test_another_tenant_is_about_to_change(launcher, pipelines, jump):
    """What builds the image there is seen, and nothing is decided."""
    launcher.states['also'] = types.SimpleNamespace(uuid='new')
    launcher.states['tenant'] = types.SimpleNamespace(uuid='new')
    pipelines.publish(tenant='also', layout_uuid='new')
    reconcile(launcher)
    assert pipelines.getEvents('image-build', 'also') == []
    pipelines.publish(layout_uuid='new')
    reconcile(launcher)
    assert pipelines.getEvents('image-build', 'also') == [BUILD]
    assert pipelines.getEvents('image-build') == []


def test_a_failed_check_is_retried(launcher, pipelines, monkeypatch):
    def fail(*args):
        raise TimeoutError
    with monkeypatch.context() as context:
        context.setattr(
            launcher.images.builds.event_tracker, 'isBuilding', fail)
        reconcile(launcher)
    assert KEY in launcher.queue.due


def test_a_build_ends_between_two_looks(launcher, pipelines, monkeypatch):
    """The item is gone, and its artifact is not known yet."""
    event_tracker = launcher.images.builds.event_tracker
    isBuilding = event_tracker.isBuilding

    def finish(*args):
        assert not isBuilding(*args)
        launcher.addArtifact()
    monkeypatch.setattr(event_tracker, 'isBuilding', finish)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == []


def test_after_builds_that_have_failed(launcher, pipelines, jump):
    """Each pause is longer, up to a limit."""
    pauses = []
    elapsed = 0
    for _ in range(12):
        reconcile(launcher)
        item, = pipelines.take()
        pipelines.finish(item)
        sent = getSent(launcher)
        pauses.append(launcher.schedule.getBackoff(sent.attempt - 1))
        elapsed += pauses[-1]
        jump(elapsed - 60)
        reconcile(launcher)
        assert pipelines.getEvents('image-build') == []
        jump(elapsed + 60)
    assert pauses[:3] == [300, 600, 1200]
    assert pauses[-1] == 12 * 3600


@pytest.mark.settings(image_first_backoff=0.01)
def test_a_build_that_failed_when_the_clock_was_wrong(
        launcher, pipelines, jump, monkeypatch):
    """Nobody waits for a day that is still to come."""
    jump(86400)
    reconcile(launcher)
    pipelines.finish(*pipelines.take())
    jump(0)
    waitFor(lambda: reconcile(launcher)
            or pipelines.getEvents('image-build') == [BUILD])


@pytest.mark.settings(image_interval=0.01)
def test_a_build_that_began_when_the_clock_was_wrong(
        launcher, pipelines, jump, monkeypatch):
    jump(86400)
    pipelines.addItem('nightly', jobs=['debian'])
    reconcile(launcher)
    jump(0)
    waitFor(lambda: reconcile(launcher)
            or getSent(launcher).time <= time.time())


def test_events_are_forgotten_when_the_image_is_in_service(
        launcher, pipelines):
    events = launcher.jobs.events
    reconcile(launcher)
    artifact = launcher.addArtifact()
    reconcile(launcher)
    assert events.getKeys('image-build')
    launcher.addUpload(artifact, _state='ready', validated=True)
    reconcile(launcher)
    # Where it is still to be validated, it may be rejected.
    assert events.getKeys('image-build')
    launcher.addUpload(artifact, 'other', _state='ready', validated=True)
    reconcile(launcher)
    assert not events.getKeys('image-build')


def test_an_image_without_build_job_is_logged_once(
        launcher, pipelines, caplog):
    pipelines.publish(jobs=False)
    for _ in range(2):
        reconcile(launcher)
    assert pipelines.getEvents('image-build') == []
    message, = (record.getMessage() for record in caplog.records
                if 'no tenant builds it' in record.getMessage())
    assert 'debian is missing' in message
    assert 'with that image-build-name' in message


def test_two_launchers_send_one_event(launcher, pipelines, monkeypatch):
    reconcileTwice(launcher, monkeypatch)
    assert pipelines.getEvents('image-build') == [BUILD]


def test_an_error_of_one_image_does_not_delay_others(
        launcher, pipelines, monkeypatch):
    with launcher.context() as context:
        launcher.fedora.delete(context)
    waitFor(lambda: not launcher.builds.getItems())
    driver = launcher.connections.drivers['zuul']
    getEvent = driver.getImageBuildEvent

    def fail(names, *args):
        if names == ['debian']:
            raise RuntimeError('no')
        return getEvent(names, *args)
    monkeypatch.setattr(driver, 'getImageBuildEvent', fail)
    reconcile(launcher)
    assert pipelines.getEvents('image-build') == [['fedora']]
