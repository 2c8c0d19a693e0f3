"""Attributes of labels that no driver's schema has, with any driver."""

import pytest

from tests.unit.configloader.levels import PLACE, load
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers import (
    forNode,
    getMinReady,
    getNextMinReady,
    getNodeAttributes,
    getOwn,
    getRequestTimeout,
)

ATTRIBUTES = ('node-attributes', 'dynamic-tags')


def getHash(provider, name='node'):
    return provider.labels[name].config_hash


@pytest.mark.parametrize('attribute', ATTRIBUTES)
def test_levels_are_merged(attribute):
    provider = load(**{
        level: {attribute: {'all': level, level.replace(' ', '-'): 'said'}}
        for level in ('base section', 'label', 'section', 'provider',
                      'label in provider')})
    assert getOwn(provider.labels['node'])[attribute] == {
        'all': 'label in provider', 'base-section': 'said',
        'label': 'said', 'section': 'said', 'provider': 'said',
        'label-in-provider': 'said'}
    assert getOwn(provider.labels['neighbour'])[attribute] == {
        'all': 'provider', 'base-section': 'said', 'section': 'said',
        'provider': 'said'}


@pytest.mark.parametrize('attribute', ATTRIBUTES)
def test_label_defaults_fill_in_what_is_missing(attribute):
    provider = load(
        section={'label-defaults': {attribute: {'a': 'default', 'b': '1'}}},
        label={attribute: {'a': 'label'}})
    assert getOwn(provider.labels['node'])[attribute] == {
        'a': 'label', 'b': '1'}
    # Zuul would refuse to read it.
    assert attribute not in provider.config['label-defaults']


@pytest.mark.parametrize('attribute', ATTRIBUTES)
def test_null_takes_all_back(attribute):
    provider = load(section={attribute: {'a': 'b'}},
                    **{'label in provider': {attribute: None}})
    assert attribute not in getOwn(provider.labels['node'])
    assert attribute in getOwn(provider.labels['neighbour'])


@pytest.mark.parametrize('attribute', ATTRIBUTES)
def test_nodes_are_replaced_when_it_changes(attribute):
    before, after = load(), load(label={attribute: {'a': 'b'}})
    assert getHash(before) != getHash(after)
    assert getHash(before, 'neighbour') == getHash(after, 'neighbour')
    assert forNode(after, 'node', '') is after


def test_image_is_the_same_with_it():
    def getHashes(provider):
        return [(image.config_hash, image.zuul_config_hash)
                for image in provider.images.values()]
    assert getHashes(load(image={'node-attributes': {'a': 'b'}})) == (
        getHashes(load()))


def test_jobs_get_no_more_than_there_is():
    label = load(label={'node-attributes': {'a': 'b'}}).labels['node']
    getNodeAttributes(label)['c'] = 'd'
    assert getNodeAttributes(label) == {'a': 'b'}


@pytest.mark.parametrize('value', [60, 0])
def test_time_for_requests_replaces_no_nodes(value):
    before, after = load(), load(label={'request-timeout': value})
    assert getRequestTimeout(before.labels['node']) is None
    assert getRequestTimeout(after.labels['node']) == value
    assert getRequestTimeout(after.labels['neighbour']) is None
    assert getHash(before) == getHash(after)
    assert forNode(after, 'node', '') is after


def test_times_of_ready_nodes_replace_no_nodes():
    times = [{'from': '07:00', 'to': '19:00', 'min-ready': 3}]
    before, after = load(), load(label={'min-ready-times': times})
    assert getNextMinReady(before.labels['node'], 0) is None
    assert getMinReady(after.labels['node'], 8 * 3600) == 3
    assert getHash(before) == getHash(after)
    assert forNode(after, 'node', '') is after


def test_invalid_times_of_ready_nodes_are_refused():
    with pytest.raises(AttributeValueError, match=(
            r'has an invalid value for "min-ready-times": entry 1: expected a '
            r'time such as "07:30", in quotes, for "from"\. It is set by the '
            r'label')):
        load(label={'min-ready-times': [
            {'from': 7, 'to': '19:00', 'min-ready': 3}]})


def test_nearest_level_says_the_time_for_requests():
    provider = load(
        section={'request-timeout': 1, 'label-defaults': {
            'request-timeout': 9}},
        provider={'request-timeout': 2},
        **{'label in provider': {'request-timeout': 3}})
    assert [getRequestTimeout(provider.labels[name])
            for name in ('node', 'neighbour')] == [3, 2]
    provider = load(section={'label-defaults': {'request-timeout': 9}})
    assert getRequestTimeout(provider.labels['node']) == 9
    # Zuul would refuse to read it.
    assert 'request-timeout' not in provider.config['label-defaults']


@pytest.mark.parametrize('value', [-1, True, 1.5, '60', 604801])
def test_times_for_requests_that_are_none(value):
    with pytest.raises(AttributeValueError, match=(
            r'has an invalid value for "request-timeout": '
            r'.*expected (a whole number of seconds from 0 to 604800|a number)'
            r'.*It is set by the label ')):
        load(label={'request-timeout': value})


@pytest.mark.parametrize('value, message', [
    ('text', 'expected a mapping'),
    ({'a': 1}, 'the value of "a" is not a string; put it in quotes'),
    ({'a': ['b']}, 'is not a string'),
    ({'a': {'b': 'c'}}, 'is not a string'),
    ({'a': "{{ lookup('pipe', 'id') }}"}, 'templates of Ansible'),
    ({'a': '{% raw %}'}, 'templates of Ansible'),
    ({'a': "#jinja2:variable_start_string:'[['"}, 'templates of Ansible'),
    ({'a': 'b' * 256}, 'has 256 characters; 255 are allowed'),
    ({'a': 'b\n'}, 'contains unprintable characters'),
    ({'a': '\u2028'}, 'contains unprintable characters'),
    ({'{{ a }}': 'b'}, 'is not a valid name'),
    ({'a' * 64: 'b'}, 'is not a valid name'),
    ({'': 'b'}, 'is not a valid name'),
    ({'executor-zone': 'east'}, 'is an attribute of labels: write it next to'),
    ({f'a{number}': '' for number in range(65)}, '65 attributes; 64 are')])
@pytest.mark.parametrize('level', ['label', 'section'])
def test_what_jobs_can_not_be_told(level, value, message):
    with pytest.raises(AttributeValueError, match=(
            f'The label "node" of the provider "desk" {PLACE} has an '
            rf'invalid value for "node-attributes": .*{message}.*It is set by '
            rf'the {level} ')):
        load(**{level: {'node-attributes': value}})


def test_levels_have_no_more_together():
    many = [{f'{level}{number}': '' for number in range(40)}
            for level in 'ab']
    with pytest.raises(AttributeValueError, match='80 attributes'):
        load(label={'node-attributes': many[0]},
             section={'node-attributes': many[1]})


@pytest.mark.parametrize('value, message', [
    ('text', 'expected a mapping'),
    ({'a': 1}, 'the value of "a" is not a string; put it in quotes'),
    ({'a': '{job_name.__class__}'}, 'it has a brace outside of a field'),
    ({'a': '{job_name!r}'}, 'it has a brace outside of a field'),
    ({'a': '{job_name:>9999999999}'}, 'it has a brace outside of a field'),
    ({'a': '{job_name[0]}'}, 'it has a brace outside of a field'),
    ({'a': '{job_name'}, 'it has a brace outside of a field'),
    ({'a': '{}'}, 'it has a brace outside of a field'),
    ({'a': '{requested}'}, 'there is no field "requested"; the fields are '
                           'buildset_uuid, event_id, id, job_name'),
    ({'a': '{labels}'}, 'there is no field "labels"'),
    ({'a': 'b' * 256}, 'at most 255 characters'),
    ({'a': '\n'}, 'printable text'),
    ({'a b': 'c'}, 'is not a valid key in every cloud'),
    ({'a' * 64: 'c'}, 'is not a valid key'),
    ({'zuul_node_uuid': 'c'}, 'is reserved for Zuul'),
    ({'Zuul_Node_UUID': 'c'}, 'is reserved for Zuul'),
    ({f'a{number}': '' for number in range(33)}, '33 tags; 32 are allowed')])
def test_tags_that_can_not_be_filled_in(value, message):
    with pytest.raises(AttributeValueError, match=(
            f'The label "node" of the provider "desk" {PLACE} has an '
            rf'invalid value for "dynamic-tags": .*{message}')):
        load(label={'dynamic-tags': value})
