"""What goes together, and what does not."""

import pytest

from tests.fixtures.layout import makeProvider, parse
from tests.unit.configloader.levels import (
    PLACE,
    ZUUL_CONF,
    document,
    load,
    view,
)
from zuul_nodes.configloader.errors import (
    AttributePlaceError,
    AttributeValueError,
    FinalError,
    SpellingError,
    UnknownAttributeError,
    UnknownNameError,
)


@pytest.mark.parametrize('level, expected', [
    ('image', f'The image "debian" {PLACE} has'),
    ('flavor', f'The flavor "small" {PLACE} has'),
    ('label', f'The label "node" {PLACE} has'),
    ('section', f'The section "desk" {PLACE} has'),
    ('provider', f'The provider "desk" {PLACE} has'),
    ('image in section',
     f'The entry for the image "debian" of the section "desk" {PLACE} has'),
    ('flavor in section',
     f'The entry for the flavor "small" of the section "desk" {PLACE} has'),
    ('label in provider',
     f'The entry for the label "node" of the provider "desk" {PLACE} has'),
])
def test_attribute_that_the_driver_does_not_know(level, expected):
    with pytest.raises(UnknownAttributeError, match=expected + (
            r' the attribute "boot-timout", which the driver aws of the '
            rf'provider "desk" {PLACE} does not know. '
            r'Did you mean "boot-timeout"\?')):
        load(**{level: {'boot-timout': 3}})


def test_attribute_of_the_other_type_of_image():
    with pytest.raises(UnknownAttributeError, match='"import-method"'):
        load(**{'image in section': {'import-method': 'image'}})
    # Zuul accepts these on the stanza of any image.
    load(image={'retain-count': 2, 'max-retain-count': 3})
    # In a section they are for all images that have them.
    load(section={'import-method': 'image'})


@pytest.mark.parametrize('level, expected', [
    ('label', 'set by the label "node"'),
    ('image', 'set by the image "debian"'),
    ('section', 'set by the section "desk"'),
    ('label in provider', 'set by the provider "desk"'),
])
@pytest.mark.parametrize('attribute, kind, name', [
    ('host-key-checking', 'label', 'node'),
    ('username', '(image|label)', '.*')])
def test_wrong_value(level, expected, attribute, kind, name):
    with pytest.raises(AttributeValueError, match=(
            rf'The {kind} "{name}" of the provider "desk" {PLACE} has an '
            rf'invalid value for "{attribute}": expected .*{expected}')):
        load(**{level: {attribute: ['wrong']}})


def test_wrong_value_where_schemas_differ_by_type_names_the_attribute():
    text = document(image={'type': 'zuul', 'username': 3})
    with pytest.raises(AttributeValueError, match=(
            r'The image "debian" of the provider "desk" .* has an invalid '
            r'value for "username": expected str. It is set by the image '
            r'"debian"')):
        makeProvider(text.replace(', "image-id": "ami-1"', ''), ZUUL_CONF)


@pytest.mark.parametrize('level', [
    'label', 'base label', 'label in section', 'label in provider', 'flavor',
    'flavor in section'])
@pytest.mark.parametrize('attribute, value', [
    ('retain-count', 2), ('upload-methods', ['image']),
    ('import-timeout', 60), ('image-format', 'raw'),
    ('import-method', 'image')])
def test_attribute_of_uploads_belongs_to_images(level, attribute, value):
    kind = 'label' if 'label' in level else 'flavor'
    with pytest.raises(AttributePlaceError, match=(
            rf'"{attribute}", which belongs to images, not to {kind}s. Move '
            r'it there')):
        load(**{level: {attribute: value}})
    load(section={attribute: value})


@pytest.mark.parametrize('level', ['image', 'flavor in section', 'section'])
def test_aliases_belong_to_one_label(level):
    with pytest.raises(AttributePlaceError, match=(
            '"aliases", which belongs to labels, not to')):
        load(**{level: {'aliases': ['other']}})


def test_missing_value():
    text = document().replace('"instance-type": "t3.small"', '')
    with pytest.raises(AttributeValueError, match=(
            r'The flavor "small" of the provider "desk" .* is invalid: '
            r'Provide either "instance-type", or "fleet" keys. See the '
            r'stanza of')):
        makeProvider(text.replace('"small", }', '"small"}'), ZUUL_CONF)


@pytest.mark.parametrize('level, attribute, value', [
    ('provider', 'min-ready', 'many'), ('label in provider', 'max-nodes', 1.5),
    ('label', 'launch-timeout', 'long'), ('label', 'connection-port', 'http'),
    ('label', 'public-ipv4', 3),
])
def test_wrong_value_of_common_attribute_names_the_label(
        level, attribute, value):
    with pytest.raises(AttributeValueError,
                       match=f'The label "node" .*"{attribute}"'):
        load(**{level: {attribute: value}})


def test_more_slots_than_a_machine_has():
    assert load(label={'slots': 1000}).labels['node'].slots == 1000
    with pytest.raises(AttributeValueError, match=(
            r'The label "node" of the provider "desk" .* has an invalid value '
            r'for "slots": expected a whole number from 0 to 1000\. It is set '
            r'by the '
            r'section "desk"')):
        load(section={'slots': 1001})


def test_min_ready_and_max_nodes():
    provider = load(label={'min-ready': 1, 'max-nodes': 10},
                    provider={'min-ready': 0})
    label = provider.labels['node']
    assert (label.min_ready, label.max_nodes) == (0, 10)
    # No node has to be made anew for them.
    assert label.config_hash == load().labels['node'].config_hash


@pytest.mark.parametrize('spelled, known, value', [
    ('meta', 'tags', {'a': 'b'}),
    ('image-name', 'image_id', 'ami-2'),
    ('cloud-flavor', 'instance_type', 't3.large'),
    ('flavor-name', 'instance_type', 't3.large'),
    ('availability-zones', 'az', 'north'),
    ('subnet', 'subnet_ids', 'net'),
])
def test_spellings(spelled, known, value):
    level = {'image-name': 'image in section',
             'cloud-flavor': 'flavor in section',
             'flavor-name': 'flavor in section'}.get(spelled, 'section')
    text = document(**{level: {spelled: value}})
    if level == 'flavor in section':
        text = text.replace('"instance-type": "t3.small",', '')
    node = view(makeProvider(text, ZUUL_CONF), 'node')
    found = next(getattr(node[kind], known)
                 for kind in ('label', 'image', 'flavor')
                 if hasattr(node[kind], known))
    assert found in (value, [value])


@pytest.mark.parametrize('level', ['image', 'label', 'section', 'provider',
                                   'image in section'])
def test_two_spellings_of_one_attribute(level):
    with pytest.raises(SpellingError, match=(
            r'has both "tags" and "meta", which are names of the same '
            r'attribute')):
        load(**{level: {'tags': {}, 'meta': {}}})


def test_quota():
    provider = load(section={'quota': {'instances': 10, 'cores': 40}},
                    provider={'resource-limits': {'instances': 4}})
    assert provider.resource_limits == {'instances': 4, 'cores': 40}
    for label in provider.labels.values():
        assert label.zuul_nodes['section'] == {
            'name': 'example.com%2Fnodes/desk',
            'limits': {'instances': 10, 'cores': 40}}
    # A node is not made anew for a new quota.
    assert (provider.labels['node'].config_hash
            == load().labels['node'].config_hash)
    with pytest.raises(SpellingError):
        load(section={'quota': {}, 'resource-limits': {}})


def test_label_of_image_that_is_not_attached_is_an_error():
    with pytest.raises(UnknownNameError, match=(
            rf'The label "node" {PLACE} needs the image "other", which is not '
            rf'attached to the provider "desk" {PLACE}. Add it to "images" of'
            rf' the section "desk" {PLACE}.')):
        load(label={'image': 'other'})


def test_label_without_image_in_a_cloud():
    text = document().replace('"image": "debian", "flavor"', '"flavor"', 1)
    with pytest.raises(UnknownNameError, match=(
            r'The label "node" .* has no image, which the driver aws .* '
            r'needs. Add one')):
        makeProvider(text, ZUUL_CONF)


def test_final_is_not_redefined():
    with pytest.raises(FinalError, match=(
            r'The section "desk" .* has an entry for the image "debian", but '
            'the section "base" .* makes it final')):
        load(**{'base image': {'final': True}})
    load(**{'base image': {'final': 'allow-override'}})


@pytest.mark.parametrize('said', [
    {'volume-size': 8}, {'label-defaults': {'volume-size': 8}}])
def test_nothing_below_changes_a_final_label(said):
    text = document(provider=said, **{
        'label in section': {'final': True, 'volume-size': 7}})
    text = text.replace('"labels": [{"name": "node"}, "neighbour"]',
                        '"labels": ["neighbour"]')
    labels = makeProvider(text, ZUUL_CONF).labels
    assert labels['node'].volume_size == 7
    assert labels['neighbour'].volume_size == 8


def test_nothing_below_changes_a_final_image():
    text = document(
        **{'image in section': {'final': True, 'username': 'zuul'}},
        provider={'username': 'root'},
        **{'label in provider': {'python-path': '/opt/python'}})
    text = text.replace('"images": [{"name": "debian"}], ', '')
    node = view(makeProvider(text, ZUUL_CONF), 'node')
    assert node['image'].username == 'zuul'
    assert node['image'].python_path is None


@pytest.mark.parametrize('attributes', [
    {'base image': {'max-retain-count': 3},
     'image in provider': {'max-retain-count': 4}},
    {'image': {'max-retain-count': 3},
     'image in section': {'max-retain-count': 4}},
    {'base section': {'image-defaults': {'max-retain-count': 3}},
     'provider': {'image-defaults': {'max-retain-count': 4}}},
])
def test_a_limit_is_not_raised(attributes):
    attributes.setdefault('image', {})['type'] = 'zuul'
    text = document(**attributes).replace('"image-id": "ami-1", ', '')
    with pytest.raises(FinalError, match='to 4, but above it is 3'):
        makeProvider(text, ZUUL_CONF)


def test_limit_of_retained_images():
    text = document(
        image={'type': 'zuul', 'max-retain-count': 5},
        provider={'image-defaults': {'max-retain-count': 2}},
        **{'image in section': {'retain-count': 3}}).replace(
            '"image-id": "ami-1"', '"retain-count": 1')
    with pytest.raises(AttributeValueError, match=(
            'has a "retain-count" of 3, but its "max-retain-count" is 2')):
        makeProvider(text, ZUUL_CONF)


def test_limit_of_an_entry_overrides_that_of_defaults():
    text = document(
        image={'type': 'zuul'},
        provider={'image-defaults': {'max-retain-count': 2}},
        **{'image in section': {'max-retain-count': 3, 'retain-count': 3},
           'image in provider': {'max-retain-count': 3}}).replace(
            '"image-id": "ami-1"', '"retain-count": 1')
    image = makeProvider(text, ZUUL_CONF).images['debian']
    assert image.max_retain_count == 3


@pytest.mark.parametrize('defaults, final', [
    ([False, True], True), ([True, None], True), ([None, None], False)])
def test_final_by_default(defaults, final):
    above, below = (
        {'flavor-defaults': {} if each is None else {'final': each}}
        for each in defaults)
    flavor = load(provider=below, section=above).flavors['small']
    assert flavor.final is final


def test_final_in_a_stanza_is_an_error():
    with pytest.raises(UnknownAttributeError, match=(
            r'The label "node" .* has the attribute "final", which only an '
            r'entry in')):
        load(label={'final': True})


def test_unknown_attribute_in_defaults():
    with pytest.raises(UnknownAttributeError, match=(
            r'"label-defaults" of the section "desk" .* has the attribute '
            r'"boot-timout".* Did you mean "boot-timeout"\?')):
        load(section={'label-defaults': {'boot-timout': 3}})


def test_error_names_the_line_of_the_entry():
    text = '''
- image: {name: debian, type: cloud}
- section:
    name: desk
    connection: cloud
    region: here

    images:

      - name: debian
        image-id: 3
- provider: {name: desk, section: desk}
'''
    with pytest.raises(AttributeValueError, match=(
            r'value for "image-id": expected str. It is set by the section '
            r'"desk" .*, line 10\)')):
        makeProvider(text, ZUUL_CONF)


@pytest.mark.parametrize('stanza', ['image', 'flavor', 'label'])
def test_equality_sees_attributes(stanza):
    first, same, other = (
        next(parsed for parsed in parse(document(**{stanza: attributes}))
             if type(parsed).__name__.lower() == stanza)
        for attributes in ({'iops': 1}, {'iops': 1}, {'iops': 2}))
    assert first == same
    assert first != other


@pytest.mark.parametrize('own, defaults', [
    ({'a': 'b'}, ['a']), ({'a': 'b'}, 3), ({'a': 'b'}, None),
    (['a'], {'a': 'b'}), (3, {'a': 'b'}),
])
def test_tags_of_a_wrong_type_are_an_error(own, defaults):
    with pytest.raises(AttributeValueError, match='invalid value for "'):
        load(label={'tags': own},
             section={'label-defaults': {'tags': defaults}})
