"""Names, metadata and properties, as the cloud takes them."""

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from tests.emulators.emulation import Refusal
from tests.emulators.openstack import OpenStack
from tests.fixtures.examples import countExamples
from tests.unit.drivers.openstack.sites import UPLOAD, getTags
from zuul_nodes.drivers.openstack.cloud.names import (
    LONGEST,
    fitMetadata,
    fitName,
    fitProperties,
)

TEXTS = st.text(max_size=300) | st.text(
    'aB1-_:. é\N{PILE OF POO}/', min_size=240, max_size=260)
TAGS = st.dictionaries(TEXTS, TEXTS, max_size=20)
POO = '\N{PILE OF POO}'


@pytest.fixture(scope='module')
def nova():
    """:return: the emulated service, which checks metadata."""
    cloud = OpenStack()
    yield cloud.nova
    cloud.end()


@settings(max_examples=countExamples(1000))
@given(names=st.sets(TEXTS, min_size=2))
def test_names_stay_different_and_the_same(names):
    fitted = {name: fitName(name) for name in names}
    assert len(set(fitted.values())) == len(names)
    assert fitted == {name: fitName(name) for name in names}


@settings(max_examples=countExamples(1000))
@given(name=TEXTS)
def test_name_of_an_image_ends_with_its_upload(name):
    fitted = fitName(f'{name}-{UPLOAD}')
    assert fitted.endswith(f'-{UPLOAD}')
    assert len(fitted) <= LONGEST
    assert max(fitted) <= '\uffff'


@settings(max_examples=countExamples(1000))
@given(tags=TAGS)
def test_nova_takes_the_metadata(nova, tags):
    fitted = fitMetadata(tags)
    nova._checkMetadata(fitted)
    assert len(fitted) == len(tags)
    assert fitted == fitMetadata(tags)


@settings(max_examples=countExamples(1000))
@given(key=TEXTS, values=st.sets(TEXTS, min_size=2))
def test_values_stay_different(key, values):
    for fit in (fitMetadata, fitProperties):
        assert len({tuple(fit({key: value}).values())
                    for value in values}) == len(values)


@pytest.mark.parametrize('fit', [fitMetadata, fitProperties])
def test_what_fits_stays_as_it_is(fit):
    tags = {'zuul_system_id': 'a', 'x:y. z': 'é' * LONGEST, 'e': ''}
    assert fit(tags) == tags


def test_long_value_of_an_image_stays_as_it_is():
    assert fitProperties({'a': 'b' * 1000}) == {'a': 'b' * 1000}


@pytest.mark.parametrize('metadata', [
    {'a/b': ''}, {'': ''}, {'a' * 256: ''}, {'a': 'b' * 256}, {'a': POO}])
def test_emulator_refuses_what_nova_refuses(nova, metadata):
    with pytest.raises(Refusal):
        nova._checkMetadata(metadata)


@pytest.mark.parametrize('name', ['x' * 250, f'büro {POO}', 'x' * 400])
def test_any_name_of_an_image(makeSite, cloud, tmp_path, name):
    path = tmp_path / 'disk'
    path.write_bytes(b'a disk')
    site = makeSite(import_method=None)
    tags = getTags(site) | {POO: 'a', 'k' * 300: 'b'}
    site.provider.getImageUploadJob(
        site.image, f'{name}-{UPLOAD}', 'raw', tags, None,
        None).run(str(path))
    image, = cloud.glance.images.values()
    assert len(image['name']) <= LONGEST
    # It is still known as ours.
    assert [each.id for each in site.list('image')] == [image['id']]


def test_any_tag_of_a_node(makeNodes, cloud):
    nodes = makeNodes()
    node = nodes.makeNode('lab')
    node.tags['branch/of'] = f'{POO}{"x" * 300}'
    nodes.create(node)
    server, = nodes.servers
    assert server['metadata'].items() >= {
        'zuul_node_uuid': node.uuid, 'zuul_system_id': 'system'}.items()
    volume, = cloud.cinder.volumes.values()
    assert volume['metadata']['zuul_node_uuid'] == node.uuid
    nodes.delete(node)
    assert not nodes.getLeft()
