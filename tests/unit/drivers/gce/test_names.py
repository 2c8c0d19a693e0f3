"""Names and labels, as Google takes them."""

from hypothesis import given, settings, strategies
import pytest

from tests.emulators.gce import GCE
from tests.emulators.gce.core import DESCRIPTION_LIMIT
from tests.emulators.gce.labels import makeLabels as takeLabels
from tests.fixtures.examples import countExamples
from zuul_nodes.drivers.gce import tags
from zuul_nodes.drivers.gce.names import fitValue, makeLabels, makeName

NAMES = strategies.one_of(
    strategies.text(max_size=250),
    strategies.text('aA-_:.0', max_size=250),
    strategies.text('az-09', min_size=1, max_size=63))
# Tags of people may begin as those of Zuul do, and be before them.
KEYS = NAMES | strategies.sampled_from(sorted(tags.OWN)) | (
    strategies.from_regex('zuul_[a-z]{1,9}', fullmatch=True))
TAGS = strategies.dictionaries(KEYS, NAMES, max_size=70)


@pytest.fixture(scope='module')
def cloud():
    gce = GCE()
    yield gce
    gce.end()


@given(names=strategies.sets(NAMES, min_size=2, max_size=5))
@settings(max_examples=countExamples(2000))
def test_names_are_taken_and_differ(cloud, names):
    made = [makeName(name) for name in names]
    for name in made:
        cloud.images.checkNew(name, project='zuul')
        # Once more gives the same.
        assert makeName(name) == name
    assert len(set(made)) == len(names)


@pytest.mark.parametrize('text, stem', [
    ('zuul-debian-12-0123', 'zuul-debian-12-0123'),
    ('x' * 63, 'x' * 63), ('x' * 64, 'x' * 40 + '-'),
    ('Debian 12, büro', 'debian-12-b-ro-'), ('12', 'zuul-12-'),
    ('', 'zuul-'), ('-a-', 'a-'), ('a-', 'a-'), ('a\n', 'a-')])
def test_people_recognize_names(text, stem):
    name = makeName(text)
    assert name.startswith(stem)
    assert len(name) == len(stem) + 16 * (name != text)


def test_what_looks_alike_is_not_the_same():
    names = ['Debian', 'debian', 'debian-', 'DEBIAN', 'x' * 250, 'x' * 249]
    assert len({makeName(name) for name in names}) == len(names)


@pytest.mark.parametrize('name', ['debian:12', 'büro', 'x' * 250])
def test_image_of_any_name_is_made(site, name):
    source = 'projects/debian-cloud/global/images/debian-12-bookworm-v1'
    made = {site.adapter.copyImage(site.makeImageSpec(
        upload, name=f'{name}-{upload}'), source, site.adapter)
        for upload in ('a' * 32, 'b' * 32)}
    assert {image.id for image in site.adapter.listImages()} == made
    assert len(made) == 2


def test_instance_of_any_name_is_made_once(gce, site):
    created = site.create('A' * 100)
    assert site.adapter.createInstance(
        site.makeSpec('A' * 100)).id == created.id
    assert gce.disks.names == gce.instances.names
    site.adapter.deleteInstance(created.id)
    site.runUntil(lambda instances: not instances)



@given(values=strategies.sets(NAMES, min_size=2, max_size=5))
@settings(max_examples=countExamples(1000))
def test_values_of_labels_differ(values):
    assert len({fitValue(value) for value in values}) == len(values)


@pytest.mark.parametrize('value, label', [
    ('zuul', 'zuul'), ('', ''), ('example.com/Zuul/zuul', 'example-com-zuul-'
                                 'zuul-0c81413c96353a1c')])
def test_people_recognize_values(value, label):
    assert makeLabels({'project': value}) == {'project': label}


@given(given=TAGS)
@settings(max_examples=countExamples(1000))
def test_labels_are_taken(given):
    ours = {'zuul_system_id': '0123456789abcdef', 'zuul_node_uuid': 'f' * 32}
    labels = makeLabels(given | ours)
    takeLabels(labels)
    assert labels.items() >= ours.items()
    for key, value in labels.items():
        assert value == fitValue((given | ours)[key])
    described = tags.describe(given | ours)
    assert len(described) <= DESCRIPTION_LIMIT
    assert tags.load(described)['tags'].items() >= ours.items()


@pytest.mark.parametrize('given', [
    {'zuul_notes': 'a' * 2100}, {'zuul_expiration': 'a' * 2100},
    {f'zuul_{number}': 'a' for number in range(300)}])
def test_no_other_tags_take_the_room_of_zuuls(given):
    ours = {'zuul_system_id': '0123456789abcdef', 'zuul_node_uuid': 'f' * 32}
    tagged = ours | given | ours
    assert tags.load(tags.describe(tagged))['tags'].items() >= ours.items()
    assert makeLabels(tagged).items() >= ours.items()
