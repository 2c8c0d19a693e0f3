"""Names and tags, as Azure takes them."""

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
import voluptuous as vs

from tests.emulators.azure import Azure
from tests.emulators.azure.core import Refusal, checkTags
from tests.fixtures.examples import countExamples
from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.azure.names import (
    MOST_TAGS,
    checkGroup,
    checkID,
    checkPart,
    checkRegion,
    fitName,
    fitTags,
)

UPLOAD = 'f' * 32
NAMES = st.text(max_size=300) | st.text(
    'aB1-_. é\N{PILE OF POO}/', min_size=240, max_size=260)


@pytest.fixture(scope='module')
def images():
    """:return: the collection of the emulator, which checks names."""
    azure = Azure()
    yield azure.images
    azure.end()


@settings(max_examples=countExamples(1000))
@given(name=NAMES)
def test_azure_takes_the_name(images, name):
    for each in (name, f'{name}-{UPLOAD}'):
        images.checkName(fitName(each))


@settings(max_examples=countExamples(1000))
@given(names=st.sets(NAMES, min_size=2))
def test_names_stay_different_and_the_same(names):
    fitted = {name: fitName(name) for name in names}
    # Azure does not mind the case.
    assert len({each.lower() for each in fitted.values()}) == len(names)
    assert fitted == {name: fitName(name) for name in names}


@pytest.mark.parametrize('name', ['debian-12', f'debian-{UPLOAD}', 'a_1.b'])
def test_good_name_stays_as_it_is(name):
    assert fitName(name) == name


def test_name_of_an_image_can_be_read():
    assert fitName(f'Debian 12, büro-{UPLOAD}').startswith('debian-12-b-ro-')


@settings(max_examples=countExamples(1000))
@given(tags=st.dictionaries(NAMES, NAMES, max_size=MOST_TAGS))
def test_azure_takes_the_tags(tags):
    fitted = fitTags(tags)
    checkTags(fitted)
    assert len(fitted) == len(tags)
    assert fitted == fitTags(tags)


@settings(max_examples=countExamples(1000))
@given(key=NAMES, values=st.sets(NAMES, min_size=2))
def test_values_stay_different(key, values):
    assert len({tuple(fitTags({key: value}).values())
                for value in values}) == len(values)


def test_good_tags_stay_as_they_are():
    tags = {'zuul_system_id': 'a', 'zuul_node_uuid': 'b', 'Büro': 'é' * 256}
    assert fitTags(tags) == tags


@pytest.mark.parametrize('name', [
    'ZUUL_NODE_UUID', 'zuul_NODE_uuid', 'zuul_node_uuiD', 'zuul_node_uuid/'])
def test_no_other_tag_takes_the_name_of_one_of_zuuls(name):
    own = {'zuul_system_id': 'a', 'zuul_node_uuid': 'b'}
    fitted = fitTags({name: 'c', **own})
    assert fitted.items() > own.items()
    checkTags(fitted)


def test_too_many_tags():
    with pytest.raises(PermanentError, match='51 tags'):
        fitTags({str(number): '' for number in range(MOST_TAGS + 1)})


@pytest.mark.parametrize('tags', [
    {'a/b': ''}, {'a' * 513: ''}, {'a': 'b' * 257}, {'Azure-1': ''},
    {'a': '', 'A': ''}, {str(number): '' for number in range(51)}])
def test_emulator_refuses_what_azure_refuses(tags):
    with pytest.raises(Refusal):
        checkTags(tags)


@pytest.mark.parametrize(('check', 'good', 'bad'), [
    (checkRegion, 'eastus', 'eastus/../../x'), (checkRegion, 'EastUS2', ''),
    (checkGroup, 'MC_a.b(1)-c', 'a/b'), (checkGroup, 'a', 'a.'),
    (checkGroup, 'ü', '{subscriptionId}'), (checkPart, 'default', '..'),
    (checkPart, '1.0.0', 'a?b'),
    (checkID, '/subscriptions/1/resourceGroups/a/providers/Microsoft.Compute'
              '/images/b', '/subscriptions/1/../2'),
    (checkID, '/a/b', '@evil.example/a/b'), (checkID, '/a/b', '/a/{b}')])
def test_what_becomes_part_of_a_path(check, good, bad):
    assert check(good) == good
    with pytest.raises(vs.Invalid, match='expected'):
        check(bad)
