"""What becomes of builds and uploads, without ZooKeeper, clouds and tenants'
jobs."""

import itertools
import types

from hypothesis import example, given, strategies
import pytest
from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes.imageuse import isUsable
from zuul_nodes.launcher.images import policy
from zuul_nodes.launcher.providers import Scope

NAME = 'example.com%2Fimages/debian'
RETAINED = 2
# What may be wrong with an upload, or good.
STATES = {
    'pending': {'_state': 'pending'},
    'uploading': {'_state': 'uploading'},
    'failed': {'_state': 'failed', 'attempt': 9},
    'unvalidated': {'_state': 'ready', 'external_id': 'image'},
    'good': {'_state': 'ready', 'external_id': 'image', 'validated': True},
    'rejected': {'_state': 'ready', 'external_id': 'image',
                 'validated': False, 'build_uuid': 'build'},
    'removed': {'_state': 'failed', 'validated': False,
                'build_uuid': 'build'},
    'deleting': {'_state': 'deleting', 'external_id': 'image'}}


class World:
    """Builds of an image, their uploads, and the providers that have it."""

    def __init__(self, *places):
        self.providers = {}
        self.artifacts = {}
        self.uploads = []
        self.kept = set()
        self.gone = set()
        self.unread = frozenset()
        self.unreadable = set()
        self.is_complete = True
        self.overdue = set()
        for place in places:
            self.add(place)

    def add(self, place, image_format='raw'):
        """Have a provider at an endpoint."""
        image = types.SimpleNamespace(
            name='debian', canonical_name=NAME, type='zuul',
            format=image_format, config_hash=image_format,
            zuul_config_hash=image_format, retain_count=RETAINED)
        self.providers[place] = types.SimpleNamespace(
            canonical_name=f'example.com%2F{place}/{place}',
            images={'debian': image},
            getEndpoint=lambda: types.SimpleNamespace(canonical_name=place))

    def build(self, timestamp, image_format='raw', /, **states):
        """:return: a new build, with uploads: place -> what is with it."""
        artifact = ImageBuildArtifact()
        artifact._set(
            uuid=f'build {timestamp}', canonical_name=NAME,
            format=image_format, timestamp=timestamp, _state='ready',
            project_canonical_name='example.com/images')
        self.artifacts[artifact.uuid] = artifact
        for place, state in states.items():
            upload = ImageUpload()
            upload._set(
                uuid=f'{timestamp} at {place}', artifact_uuid=artifact.uuid,
                canonical_name=NAME, endpoint_name=place,
                config_hash=image_format,
                providers=[f'example.com%2F{place}/{place}'],
                **STATES[state])
            self.uploads.append(upload)
        return artifact

    def getStock(self):
        scope = types.SimpleNamespace(
            providers=list(self.providers.values()), unread=self.unread,
            unreadable=self.unreadable)
        scope.getImageFormats = lambda: Scope.getImageFormats(scope)
        stock = policy.Stock(
            scope, self.artifacts, self.uploads, self.kept, self.gone,
            lambda projects: self.is_complete)
        stock.overdue = self.overdue
        return stock

    def judge(self):
        """:return: id of each upload and build -> its Verdict."""
        stock = self.getStock()
        return {
            **{each.uuid: stock.judgeUpload(each) for each in self.uploads},
            **{each.uuid: stock.judgeArtifact(each)
               for each in self.artifacts.values()}}

    def wait(self):
        """Let the delay of all unneeded uploads and builds end."""
        self.overdue, _ = self.getStock().findUnneeded()

    def carryOut(self):
        """Carry out the verdicts until none of them deletes anything."""
        rounds = itertools.count()
        while gone := {name for name, verdict in self.judge().items()
                       if verdict.is_deleted}:
            # It ends: uploads, then builds.
            assert next(rounds) < 5
            for uuid in gone & self.artifacts.keys():
                if any(each.artifact_uuid == uuid for each in self.uploads):
                    self.artifacts[uuid]._set(_state='deleting')
                else:
                    del self.artifacts[uuid]
            for upload in list(self.uploads):
                if upload.uuid in gone:
                    self._delete(upload)

    def _delete(self, upload):
        if policy.isRejected(upload) and upload.state == 'ready':
            # As its image has left the cloud; the record stays.
            upload._set(_state='failed')
        else:
            self.uploads.remove(upload)


def getLeft(world):
    return {each.uuid for each in (
        *world.uploads, *world.artifacts.values())}


# Builds

def test_newest_builds_in_service_are_kept():
    world = World('rack')
    for number in range(1, 5):
        world.build(number, rack='good')
    world.carryOut()
    assert set(world.artifacts) == {'build 3', 'build 4'}


@pytest.mark.parametrize('state', ['failed', 'pending'])
def test_broken_endpoint_keeps_no_more_builds_than_others(state):
    world = World('rack', 'other')
    for number in range(1, 13):
        world.build(number, rack='good', other=state)
    world.carryOut()
    assert set(world.artifacts) == {'build 11', 'build 12'}


@pytest.mark.parametrize('late', [
    'pending', 'uploading', 'failed', 'unvalidated'])
def test_rejection_is_of_the_build(late):
    world = World('rack', 'other')
    world.build(1, rack='good', other='good')
    bad = world.build(2, rack='rejected', other=late)
    assert policy.isBad(world.uploads[2:])
    assert world.judge()['2 at other'] == policy.BAD
    world.carryOut()
    assert getLeft(world) == {
        'build 1', '1 at rack', '1 at other', bad.uuid, '2 at rack'}


def test_build_that_was_validated_is_bad_where_it_was_rejected():
    world = World('rack', 'other')
    new = world.build(1, rack='good', other='rejected')
    assert not policy.isBad(world.uploads)
    assert policy.findSource([new], world.uploads[1:], set()) is None
    assert policy.findSource([new], world.uploads[:1], set()) is new
    # A new endpoint has none.
    assert policy.findSource([new], [], set()) is new


def test_build_that_is_good_elsewhere_serves_an_endpoint():
    world = World('rack', 'other')
    old = world.build(1, rack='good')
    new = world.build(2, rack='good', other='rejected')
    assert policy.findSource(
        [old, new], world.uploads[-1:], set()) is old


@pytest.mark.parametrize('older, newer, is_superseded', [
    ('failed', 'failed', True), ('failed', 'pending', True),
    ('failed', 'good', True), ('failed', 'rejected', False),
    ('failed', 'removed', False)])
def test_failed_upload_is_superseded_by_one_that_may_be_good(
        older, newer, is_superseded):
    world = World('rack', 'other')
    world.build(1, rack=older, other=older)
    world.build(2, rack=newer)
    uploads = policy.sortByAge(world.uploads, world.artifacts.get)
    assert policy.isSuperseded(world.uploads[0], uploads) is is_superseded
    # That of another endpoint is in no one's place.
    assert not policy.isSuperseded(world.uploads[1], uploads)


# What no provider needs

LOSSES = {
    'image': lambda world: world.providers.clear(),
    'format': lambda world: world.add('rack', 'vhd')}


@pytest.mark.parametrize('loss', LOSSES)
def test_nothing_goes_at_once(loss):
    world = World('rack')
    world.build(1, rack='good')
    LOSSES[loss](world)
    assert not any(each.is_deleted for each in world.judge().values())
    world.wait()
    world.carryOut()
    assert not world.artifacts and not world.uploads


@pytest.mark.parametrize('loss', LOSSES)
def test_image_that_comes_back_is_kept(loss):
    world = World('rack')
    world.build(1, rack='good')
    LOSSES[loss](world)
    world.add('rack')
    world.wait()
    world.carryOut()
    assert getLeft(world) == {'build 1', '1 at rack'}


def test_build_stays_as_long_as_one_provider_has_the_image():
    world = World('rack', 'other')
    world.build(1, rack='good', other='good')
    del world.providers['other']
    world.wait()
    world.carryOut()
    assert getLeft(world) == {'build 1', '1 at rack'}


DOUBTS = {
    'layout that is not read': {'unread': {'tenant'}},
    'provider that this launcher cannot read': {
        'unreadable': {'example.com%2Frack/rack'}},
    'project with an error': {'is_complete': False}}


@pytest.mark.parametrize('doubt', DOUBTS)
def test_doubt_deletes_nothing(doubt):
    world = World('rack')
    world.build(1, rack='good')
    world.providers.clear()
    vars(world).update(DOUBTS[doubt])
    assert world.getStock().findUnneeded() == (set(), getLeft(world))
    world.wait()
    world.carryOut()
    assert getLeft(world) == {'build 1', '1 at rack'}


def test_operator_keeps_a_build_that_nobody_needs():
    world = World('rack')
    world.kept.add(world.build(1, rack='good').uuid)
    world.providers.clear()
    world.wait()
    world.carryOut()
    assert getLeft(world) == {'build 1', '1 at rack'}


# Histories

PLACES = ('rack', 'other', 'third')
places = strategies.sampled_from(PLACES)
numbers = strategies.integers(0, 20)
STEPS = {
    'build': strategies.dictionaries(
        places, strategies.sampled_from(sorted(STATES)), min_size=1),
    'lose': places,
    'regain': places,
    'reformat': places,
    'validate': numbers,
    'reject': numbers,
    'finish': numbers,
    'keep': numbers,
    'release': numbers,
    'delete': numbers,
    'doubt': strategies.booleans(),
    'wait': strategies.none()}
steps = strategies.lists(strategies.sampled_from(sorted(STEPS)).flatmap(
    lambda name: strategies.tuples(
        strategies.just(name), STEPS[name])), max_size=30)


def pick(records, number):
    return records[number % len(records)] if records else None


def take(world, name, value, time):
    """Take a step of a history."""
    if name == 'build':
        world.build(time, **value)
    elif name == 'lose':
        world.providers.pop(value, None)
    elif name in ('regain', 'reformat'):
        world.add(value, {'regain': 'raw', 'reformat': 'vhd'}[name])
    elif name == 'doubt':
        world.is_complete = not value
    elif name == 'wait':
        world.wait()
    elif name in ('validate', 'reject', 'finish'):
        upload = pick(world.uploads, value)
        if upload and upload.state != 'deleting':
            upload._set(**STATES[{
                'validate': 'good', 'reject': 'rejected',
                'finish': 'unvalidated'}[name]])
    elif artifact := pick(list(world.artifacts.values()), value):
        if name == 'delete':
            artifact._set(_state='deleting')
        else:
            {'keep': world.kept.add, 'release': world.kept.discard}[name](
                artifact.uuid)


def getPrecious(world):
    """:return: the ids of what nodes boot now, or could as soon as a mistake
        is repaired: of the newest good build at each endpoint, at least."""
    precious = set()
    for upload in world.uploads:
        artifact = world.artifacts[upload.artifact_uuid]
        newer = [each for each in world.uploads
                 if each.endpoint_name == upload.endpoint_name
                 and each.validated and each.state == 'ready'
                 and world.artifacts[each.artifact_uuid].state == 'ready'
                 and world.artifacts[each.artifact_uuid].timestamp
                 > artifact.timestamp]
        if (artifact.state == upload.state == 'ready' and upload.validated
                and not newer
                and not {upload.uuid, artifact.uuid} & world.overdue):
            precious |= {upload.uuid, artifact.uuid}
    return precious


@given(steps)
@example([('build', {'rack': 'good'}), ('lose', 'rack'), ('wait', None),
          ('regain', 'rack')])
@example([('build', {'rack': 'good'}), ('reformat', 'rack')])
def test_no_history_deletes_what_is_needed(history):
    world = World(*PLACES)
    for time, (name, value) in enumerate(history, 1):
        take(world, name, value, time)
        # As the launcher does at each look.
        unneeded, _ = world.getStock().findUnneeded()
        world.overdue &= unneeded
        precious = getPrecious(world)
        world.carryOut()
        assert precious <= getLeft(world)
        for upload in world.uploads:
            # What can serve has its build, and so its file.
            assert upload.artifact_uuid in world.artifacts
    # Without providers, the launcher deletes all of them in the end.
    world.providers.clear()
    world.kept.clear()
    world.is_complete = True
    world.wait()
    world.carryOut()
    assert not getLeft(world)


def test_world_knows_what_providers_can_use():
    world = World('rack')
    world.build(1, rack='good')
    provider = world.providers['rack']
    assert isUsable(world.uploads[0], provider.images['debian'], provider)
