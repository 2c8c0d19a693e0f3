"""The eight levels: which of two values a node gets."""

import itertools

import pytest

from tests.fixtures.layout import makeProvider
from tests.unit.configloader.levels import (
    LEVELS,
    ZUUL_CONF,
    document,
    load,
    view,
)
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers import forNode, getZones

PAIRS = list(itertools.combinations(LEVELS, 2))


def getNode(**attributes):
    """:return: provider, label, image and flavor as a node has them."""
    return view(load(**attributes), 'node')


def test_there_are_28_pairs():
    assert len(PAIRS) == 28


@pytest.mark.parametrize('kind, attribute, weak, strong', [
    ('label', 'boot-timeout', 100, 200),
    ('label', 'boot-timeout', 100, 0),
    ('label', 'key-name', 'mine', ''),
    ('label', 'host-key-checking', True, False),
    ('label', 'volume-size', 10, 20),
    ('label', 'volume-type', 'io1', 'standard'),
    ('image', 'username', 'root', 'zuul'),
    ('image', 'python-path', '/usr/bin/python3', ''),
    ('image', 'connection-port', 22, 2222),
    ('flavor', 'public-ipv4', True, False),
    ('flavor', 'market-type', 'spot', 'on-demand'),
    ('provider', 'launch-timeout', 600, 0),
])
@pytest.mark.parametrize('below, above', PAIRS)
def test_scalars_override(below, above, kind, attribute, weak, strong):
    node = getNode(**{below: {attribute: weak}, above: {attribute: strong}})
    value = getattr(node[kind], attribute.replace('-', '_'))
    assert value == strong
    assert type(value) is type(strong)


@pytest.mark.parametrize('level', LEVELS)
@pytest.mark.parametrize('kind, attribute, value', [
    ('label', 'boot-timeout', 7), ('label', 'iops', 100),
    ('image', 'username', 'zuul'), ('image', 'shell-type', 'cmd'),
    ('flavor', 'nested-virtualization', True),
    ('provider', 'launch-timeout', 600)])
def test_every_level_counts(level, kind, attribute, value):
    node = getNode(**{level: {attribute: value}})
    assert getattr(node[kind], attribute.replace('-', '_')) == value


@pytest.mark.parametrize('below, above', PAIRS)
def test_dicts_merge(below, above):
    node = getNode(**{below: {'tags': {'a': 'weak', 'b': 'weak'}},
                      above: {'tags': {'b': 'strong', 'c': 'strong'}}})
    assert node['label'].tags == {
        'a': 'weak', 'b': 'strong', 'c': 'strong'}


@pytest.mark.parametrize('below, above', PAIRS)
def test_lists_concatenate(below, above):
    node = getNode(**{below: {'security-group-ids': ['a', 'b']},
                      above: {'security-group-ids': ['b', 'c']}})
    assert node['label'].security_group_ids == ['a', 'b', 'b', 'c']


@pytest.mark.parametrize('below, above', PAIRS)
def test_lists_replace_where_they_say_so(below, above):
    node = getNode(**{
        below: {'security-group-ids': ['a', 'b']},
        above: {'security-group-ids': {'replace': ['c']}}})
    assert node['label'].security_group_ids == ['c']


@pytest.mark.parametrize('below, above', PAIRS)
def test_lists_that_replace_are_added_to_further_down(below, above):
    node = getNode(**{
        below: {'security-group-ids': {'replace': ['a']}},
        above: {'security-group-ids': ['b']}})
    assert node['label'].security_group_ids == ['a', 'b']


def test_lists_replace_within_mappings():
    provider = makeProvider('''
- image: {name: none, type: cloud}
- flavor: {name: none}
- label: {name: pod, image: none, flavor: none, kind: pod,
          spec: {tolerations: [{key: a}]}}
- section: {name: desk, connection: cluster, images: [none], flavors: [none]}
- provider: {name: desk, section: desk, labels: [
    {name: pod, spec: {tolerations: {replace: [{key: b}]}}}]}
''', '[connection cluster]\ndriver=kubernetes\n')
    assert provider.labels['pod'].spec == {'tolerations': [{'key': 'b'}]}


def test_static_nodes_replace_those_of_the_section_above():
    provider = makeProvider('''
- label: {name: old}
- label: {name: new}
- section: {name: all, abstract: true, connection: null,
            nodes: [{name: old, host: old.example.com}]}
- section: {name: desk, parent: all,
            nodes: {replace: [{name: new, host: new.example.com}]}}
- provider: {name: desk, section: desk, include-all-node-labels: true}
''', '')
    assert list(provider.labels) == ['new']


def test_labels_of_a_provider_replace_those_of_its_section():
    def getLabels(labels):
        provider = load(**{
            'section': {'labels': [{'name': 'node', 'boot-timeout': 7},
                                   'neighbour']},
            'provider': {'labels': labels}})
        return {name: label.boot_timeout
                for name, label in provider.labels.items()}

    assert getLabels([]).keys() == {'node', 'neighbour'}
    # What the section says of the label stays.
    assert getLabels({'replace': ['node']}) == {'node': 7}


def test_mapping_with_more_than_replace_is_a_mapping():
    with pytest.raises(AttributeValueError, match='"security-group-ids"'):
        load(section={'security-group-ids': {'replace': ['a'], 'b': 'c'}})


def test_flavor_of_a_provider_alone():
    provider = load(
        label={'flavor': 'large'},
        provider={'flavors': [{'name': 'large', 'instance-type': 'm5.xl'}]})
    assert provider.flavors['large'].instance_type == 'm5.xl'


@pytest.mark.parametrize('level', ['label', 'label in provider'])
@pytest.mark.parametrize('attribute', ['username', 'market-type'])
def test_attributes_of_a_label_concern_no_other_label(level, attribute):
    value = {'username': 'zuul', 'market-type': 'spot'}[attribute]
    provider = load(**{level: {attribute: value}})
    kind = {'username': 'image', 'market-type': 'flavor'}[attribute]
    attribute = attribute.replace('-', '_')
    assert getattr(view(provider, 'node')[kind], attribute) == value
    assert getattr(view(provider, 'neighbour')[kind], attribute) != value
    # Nothing of a label's is uploaded.
    assert provider.images['debian'].username is None


# Beyond the eight levels.
@pytest.mark.parametrize('below, above', [
    ('base section', 'section'),
    ('base image', 'image in section'),
    # An entry further down merges with the one above.
    ('base label', 'label in section'),
    ('label in section', 'label in provider'),
    ('flavor in section', 'label in section'),
    ('label in section', 'provider'),
    # As in Zuul, where an image counts less than a flavor or a label.
    ('image in section', 'image in provider'),
    ('image in provider', 'flavor in section'),
    ('image in provider', 'label in section'),
    ('image in provider', 'provider'),
    ('image in provider', 'label in provider'),
    ('flavor in section', 'flavor in provider'),
    ('provider', 'flavor in provider'),
    ('image in provider', 'flavor in provider'),
    ('flavor in provider', 'label in provider'),
])
def test_places_beside_the_eight_levels_override_in_order(below, above):
    node = getNode(**{
        below: {'volume-size': 10, 'iops': 100, 'tags': {'a': 'weak'}},
        above: {'volume-size': 20, 'tags': {'b': 'strong'}}})
    label = node['label']
    assert (label.volume_size, label.iops) == (20, 100)
    assert label.tags == {'a': 'weak', 'b': 'strong'}


def test_entry_of_an_image_in_the_provider_overrides_the_provider():
    node = getNode(provider={'username': 'zuul', 'python-path': '/opt/python'},
                   **{'image in provider': {'username': 'Administrator'}})
    assert node['image'].username == 'Administrator'
    assert node['image'].python_path == '/opt/python'


@pytest.mark.parametrize('level', ['image in section', 'image in provider'])
def test_image_filters_replace_image_id(level):
    # The section above has an "image-id".
    node = getNode(**{level: {'image-filters': [{'name': 'x'}]}})
    assert node['image'].image_id is None
    assert node['image'].image_filters


@pytest.mark.parametrize('kind, stanza, entry, attribute', [
    ('image', 'image', 'image in section', 'volume-size'),
    ('flavor', 'flavor', 'flavor in section', 'volume-size'),
    ('label', 'label', 'label in section', 'boot-timeout'),
])
def test_defaults_fill_in(kind, stanza, entry, attribute):
    defaults = {f'{kind}-defaults': {attribute: 5, 'iops': 100}}

    def value(**attributes):
        label = getNode(**attributes)['label']
        assert label.iops == 100
        return getattr(label, attribute.replace('-', '_'))

    for place in ('base section', 'section', 'provider'):
        assert value(**{place: defaults}) == 5
        assert value(**{place: defaults, stanza: {attribute: 7}}) == 7
        assert value(**{place: defaults, entry: {attribute: 7}}) == 7


def test_defaults_count_like_entries_of_the_section():
    # They count like an entry for each object in the section.
    defaults = {'label-defaults': {'volume-size': 6}}
    for weaker in ('image', 'flavor', 'section', 'image in section',
                   'flavor in section', 'image in provider'):
        node = getNode(**{'base section': defaults,
                          weaker: {'volume-size': 5}})
        assert node['label'].volume_size == 6
    for stronger in ('label', 'label in section', 'provider',
                     'label in provider'):
        node = getNode(**{'base section': defaults,
                          stronger: {'volume-size': 7}})
        assert node['label'].volume_size == 7


def test_defaults_of_tags_merge():
    node = getNode(
        section={'label-defaults': {'tags': {'a': '1', 'b': '1'}}},
        label={'tags': {'b': '2'}},
        **{'label in provider': {'tags': {'c': '3'}}})
    assert node['label'].tags == {'a': '1', 'b': '2', 'c': '3'}


def test_attributes_of_nodes_do_not_change_the_image_hash():
    def getHash(**attributes):
        text = document(image={'type': 'zuul'}, **attributes)
        provider = makeProvider(text.replace('"image-id": "ami-1"', ''),
                                ZUUL_CONF)
        return provider.images['debian'].zuul_config_hash

    assert getHash() == getHash(
        section={'tags': {'team': 'infra'}, 'volume-size': 30},
        provider={'iops': 1000})
    # What the image itself has is.
    assert getHash() != getHash(**{'image in section': {'volume-size': 30}})


@pytest.mark.parametrize('zones, az, several', [
    (['a'], 'a', None), ('a', 'a', None), ([], None, None),
    (['a', 'b'], None, ['a', 'b'])])
@pytest.mark.parametrize('make', [
    lambda zones: zones, lambda zones: {'label-defaults': zones}])
def test_availability_zones(make, zones, az, several):
    provider = load(section=make({'availability-zones': zones}))
    label = provider.labels['node']
    assert label.az == az
    assert getattr(label, 'zuul_nodes', {}).get('zones') == several
    assert getZones(label) == (several or ([az] if az else []))
    for zone in several or ():
        view = forNode(provider, 'node', zone)
        assert view.labels['node'].az == zone
    # Of a node whose zone the label names no more.
    view = forNode(provider, 'node', 'other')
    assert view.labels['node'].az == (several[0] if several else az)


def test_one_zone_overrides_several():
    node = getNode(section={'availability-zones': ['a', 'b']},
                   **{'label in provider': {'az': 'c'}})
    assert node['label'].az == 'c'
