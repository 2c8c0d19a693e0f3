"""Numbers that are none, and ports that there are not."""

import importlib.metadata

import pytest
import voluptuous as vs
from zuul.driver import ProviderInterface
from zuul.driver.azure import AzureDriver
from zuul.exceptions import ConfigurationSyntaxError

from tests.fixtures.layout import flatten
from zuul_nodes.configloader.flattening.vocabulary import getVocabulary
from zuul_nodes.drivers import BOUNDS, beStrict
from zuul_nodes.drivers.framework.numbers import Bound

TEXT = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: local}}
- label: {{name: big, image: debian, flavor: local{label}}}
- section:
    name: desk
    connection: null
    images: [{{name: debian, username: zuul{image}}}]
    flavors: [local]
    nodes:
      - {{name: desk.example.com, label: big{node}}}
- provider: {{name: desk, section: desk, labels: [big], {provider}}}
'''
DRIVERS = {AzureDriver} | {
    entry_point.load() for entry_point
    in importlib.metadata.entry_points(group='zuul.drivers')}
VOCABULARIES = [
    pytest.param(getVocabulary(driver().getProviderSchemaClass()),
                 id=driver.name)
    for driver in sorted(DRIVERS, key=lambda driver: driver.__module__)
    if issubclass(driver, ProviderInterface)]


def load(label='', image='', node='', provider='launch-attempts: 3'):
    return flatten(TEXT.format(
        label=label, image=image, node=node, provider=provider))


def test_numbers_that_can_be_meant_are_right():
    assert load(', max-nodes: 0, slots: 2, boot-timeout: 0',
                ', connection-port: 65535', ', connection-port: 22',
                'resource-limits: {instances: 0}, launch-timeout: 604800')


@pytest.mark.parametrize('place, attribute', [
    ('label', ', max-nodes: no'), ('label', ', min-ready: yes'),
    ('label', ', slots: yes'), ('label', ', boot-timeout: yes'),
    ('label', ', slots: 1001'), ('label', ', max-age: -1'),
    ('label', ', max-age: 1.5'), ('label', ', boot-timeout: 604801'),
    ('image', ', connection-port: 65558'), ('image', ', connection-port: 0'),
    ('image', ', import-timeout: -3'),
    ('node', ', connection-port: 65558'), ('node', ', connection-port: 0'),
    ('node', ', connection-port: -1'), ('node', ', connection-port: yes'),
    ('node', ', boot-timeout: yes'),
    ('provider', 'resource-limits: {instances: no}'),
    ('provider', 'resource-limits: {instances: -1}'),
    ('provider', 'launch-attempts: off'),
    ('provider', 'image-defaults: {import-timeout: on}'),
])
def test_numbers_that_can_not_be_meant_are_errors(place, attribute):
    name = attribute.rpartition(':')[0].split()[-1].strip('{:,')
    with pytest.raises(ConfigurationSyntaxError, match=f'"{name}"|at {name}'):
        load(**{place: attribute})


@pytest.mark.parametrize('vocabulary', VOCABULARIES)
def test_no_attribute_of_any_driver_takes_a_boolean_for_a_number(vocabulary):
    for name in vocabulary.known | vocabulary.provider:
        takes = [value for value in (1, 2, 1000, 'true', True)
                 if vocabulary.findFault(name, value) is None]
        # Anything is free text, or structure.
        if {2, 1000} & set(takes) and 'true' not in takes:
            assert not any(value is True for value in takes), name


@pytest.mark.parametrize('vocabulary', VOCABULARIES)
def test_bounds_hold_with_every_driver(vocabulary):
    names = BOUNDS.keys() & (vocabulary.known | vocabulary.provider)
    assert len(names) > 10
    for name in names:
        bound = BOUNDS[name]
        for value in (bound.least - 1, bound.most + 1, True, 'x'):
            assert str(bound) in vocabulary.findFault(name, value)


@pytest.mark.parametrize('schema', [
    {'a': int}, {'a': [int]}, {'a': vs.Any(str, int)},
    {vs.Optional('a'): vs.All(int, vs.Range(min=0))},
    vs.Any({'a': int}, {'b': str}), vs.Schema({'a': vs.Any(None, float)}),
    vs.All({'a': {'b': (int, str)}})])
def test_schemas_of_all_kinds_become_strict(schema):
    strict = vs.Schema(beStrict(schema))
    wrap = ((lambda value: [value]) if schema == {'a': [int]} else
            (lambda value: {'b': (value,)}) if isinstance(schema, vs.All)
            else lambda value: value)
    number = 1.0 if isinstance(schema, vs.Schema) else 1
    assert strict({'a': wrap(number)})
    assert vs.Schema(schema)({'a': wrap(number)})
    with pytest.raises(vs.Invalid):
        strict({'a': wrap(True)})


def test_a_boolean_is_right_where_one_is_asked_for():
    strict = vs.Schema(beStrict({'a': bool, 'b': vs.Any(bool, int)}))
    assert strict({'a': True, 'b': False}) == {'a': True, 'b': False}


def test_a_bound_says_what_it_is():
    assert str(Bound(0, 60, 'seconds')) == (
        'a whole number of seconds from 0 to 60')
