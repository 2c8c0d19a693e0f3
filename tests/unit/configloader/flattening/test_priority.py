"""The priority of a provider among the others of a tenant."""

import configparser
import copy

import pytest

from tests.fixtures.layout import makeConnections, makeLayout
from tests.unit.configloader.levels import PLACE, document, load
from zuul_nodes.configloader.errors import (
    AttributePlaceError,
    AttributeValueError,
    UnknownAttributeError,
)
from zuul_nodes.drivers import forNode, getOwn

# Its flavors have a priority of another kind.
AZURE_CONF = '[connection cloud]\ndriver=azure\n'


def getPriorities(provider):
    """:return: what each of the labels has of it, or None."""
    return {name: getOwn(label).get('priority')
            for name, label in provider.labels.items()}


@pytest.mark.parametrize('base, section, provider, expected', [
    (None, None, None, None),
    (5, None, None, 5),
    (5, 6, None, 6),
    (5, 6, 7, 7),
    (7, None, 0, 0),
    (None, 0, None, 0),
    (None, 200, None, 200),
    # The default is not written down, whoever says it.
    (5, None, 100, None),
    (100, None, None, None),
])
def test_nearest_priority_counts(base, section, provider, expected):
    levels = {'base section': base, 'section': section, 'provider': provider}
    found = getPriorities(load(**{
        level: {'priority': value} for level, value in levels.items()
        if value is not None}))
    assert found == {'node': expected, 'neighbour': expected}


def test_null_is_the_default():
    assert getPriorities(load(section={'priority': 5}, provider={
        'priority': None}))['node'] is None


def test_priority_changes_no_hash():
    def getHashes(provider):
        return ([label.config_hash for label in provider.labels.values()],
                [(image.config_hash, image.zuul_config_hash)
                 for image in provider.images.values()],
                [flavor.config_hash for flavor in provider.flavors.values()])
    assert getHashes(load(section={'priority': 5})) == getHashes(load())


def test_priority_is_not_in_the_record_of_the_provider():
    # Zuul would refuse to read it.
    provider = load(section={'priority': 5})
    assert 'priority' not in provider.config
    assert not hasattr(provider, 'priority')


@pytest.mark.parametrize('attributes', [
    {'section': {'priority': 5}},
    {'section': {'quota': {'instances': 10}}},
    {'section': {'priority': 5, 'quota': {'instances': 10}}},
])
def test_provider_of_a_node_is_the_same_with_a_priority(attributes):
    provider = load(**attributes)
    assert forNode(provider, 'node', '') is provider


def test_priority_is_beside_attributes_of_a_label():
    provider = load(section={'quota': {'instances': 10}},
                    provider={'priority': 5}, label={'launch-timeout': 7})
    assert provider.labels['node'].zuul_nodes == {
        'provider': {'launch-timeout': 7}, 'priority': 5,
        'section': {'name': 'example.com%2Fnodes/desk',
                    'limits': {'instances': 10}}}
    assert forNode(provider, 'node', '').launch_timeout == 7


def test_labels_do_not_share_their_entry():
    first, second = load(
        provider={'priority': 5, 'launch-timeout': 3},
        label={'launch-timeout': 7}).config['labels']
    before = copy.deepcopy(second)
    first['zuul_nodes']['priority'] = 6
    assert second == before


@pytest.mark.parametrize('value', [-1, 1.5, '5', 'high', True, [], {}])
@pytest.mark.parametrize('level, origin', [
    ('provider', 'provider "desk"'), ('section', 'section "desk"'),
    ('base section', 'section "base"')])
def test_wrong_value(level, origin, value):
    with pytest.raises(AttributeValueError, match=(
            rf'The provider "desk" {PLACE} has an invalid value for '
            rf'"priority": expected an integer, 0 or more\. .* set by the '
            rf'{origin} {PLACE}')):
        load(**{level: {'priority': value}})


@pytest.mark.parametrize('level', [
    'image', 'flavor', 'label', 'image in section', 'label in provider'])
def test_priority_elsewhere_is_an_error(level):
    with pytest.raises(AttributePlaceError, match=(
            '"priority", which belongs to sections and providers')):
        load(**{level: {'priority': 5}})


def test_misspelt_priority_is_an_error():
    with pytest.raises(UnknownAttributeError, match=(
            r'"priorty", .* Did you mean "priority"\?')):
        load(provider={'priorty': 5})


def flattenAzure(**attributes):
    text = document(**attributes, **{'base section': {
        'subnet-id': 'net', 'resource-group': 'zuul'}})
    text = text.replace('instance-type', 'vm-size')
    config = configparser.ConfigParser()
    config.read_string(AZURE_CONF)
    layout = makeLayout(text)
    return layout.provider_configs['desk'].flattenConfig(
        layout, makeConnections(config))


def test_priority_of_azure_flavors_is_another():
    config = flattenAzure(section={'priority': 5}, **{
        'flavor in section': {'priority': 'spot'}})
    assert config['labels'][0]['zuul_nodes'] == {'priority': 5}
    assert config['flavors'][0]['priority'] == 'spot'
    with pytest.raises(AttributeValueError, match='expected an integer'):
        flattenAzure(section={'priority': 'spot'})
