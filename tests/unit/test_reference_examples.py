"""The examples of all attributes, as the reference shows them."""

import configparser
import pathlib

import pytest
import yaml

from tests.fixtures.exampledrivers import DRIVERS, FILES
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.reference import examples, getSections
from zuul_nodes.testing.layout import makeConnections, makeProviders

EXAMPLES = (pathlib.Path(__file__).parents[2]
            / 'doc/source/examples/attributes')


def findMissing(attributes, found, path=''):
    """:return: yields names of attributes that have no example."""
    for each in attributes:
        if each.name not in found:
            yield f'{path}{each.name}'
        else:
            yield from findMissing(
                each.parts, found[each.name].parts, f'{path}{each.name}.')


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_every_attribute_has_an_example(name):
    found = examples.read(EXAMPLES / name)
    assert [f'{name}: {kind}: {missing}'
            for kind, attributes in getSections(DRIVERS.get(name))
            for missing in findMissing(attributes, found.get(kind, {}))
            ] == []


def findUnexplained(attributes, found):
    for each in attributes:
        example = found.get(each.name)
        if not each.is_zuuls and not each.doc.strip() and not (
                example and example.comment):
            yield each.name
        yield from findUnexplained(each.parts, {})


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_what_is_ours_is_explained(name):
    found = examples.read(EXAMPLES / name)
    assert [f'{name}: {kind}: {missing}'
            for kind, attributes in getSections(DRIVERS.get(name))
            for missing in findUnexplained(attributes, found.get(kind, {}))
            ] == []


def test_options_of_zuul_are_explained():
    for name, driver_class in DRIVERS.items():
        found = examples.read(EXAMPLES / name)
        kind, options = next(getSections(driver_class))
        assert [f'{name}: {each.name}' for each in options if not each.doc
                and not found[kind][each.name].comment] == []


def test_a_missing_example_is_found():
    found = examples.readStanzas('''
- section:
    name: cloud
    resource-limits: {cores: 1}
    nodes: [{name: one}]
''')
    kinds = {kind: list(findMissing(attributes, found[kind]))
             for kind, attributes in getSections(StaticDriver)
             if kind in found}
    missing = kinds['provider and section']
    assert {'include-all-node-labels', 'nodes.host-key',
            'resource-limits.instances'} <= set(missing)
    assert not {'nodes', 'nodes.name', 'resource-limits'} & set(missing)


@pytest.fixture
def connect(tmp_path):
    """:return: a function that makes the connections of an example."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def connect(name):
        config = configparser.ConfigParser()
        path = EXAMPLES / f'{name}.conf'
        if path.exists():
            config.read_string(
                path.read_text().replace('/etc/zuul', str(tmp_path)))
        return makeConnections(config, *DRIVERS.values())
    return connect


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_examples_can_be_loaded(name, connect, zk_client):
    text = (EXAMPLES / f'{name}.yaml').read_text()
    provider, = makeProviders(connect(name), text, zk_client, 'system')
    assert provider.driver.name == ('fake' if name == 'any' else name)
    written = {stanza['label']['name'] for stanza in yaml.safe_load(text)
               if 'label' in stanza}
    assert provider.labels.keys() == written


def test_options_are_explained_by_what_stands_above_them():
    found = examples.readOptions('''
[connection a]
# What it is
# called.
name = x
other = y
name = z
''')
    assert found['name'].comment == 'What it is\ncalled.'
    assert found['name'].text == 'name = x'
    assert found['other'].comment == ''


def test_examples_are_cut_as_they_are_written():
    found = examples.readStanzas('''
- image: {name: a, tags: {b: c}}
- section:
    name: cloud
    images:
      - name: b
        filters:
          - key: x

            # What comes next
        other: |
          one
            two

    image-defaults:
      more: 1
''')
    image = found['image']
    assert image['name'].text == 'name: a'
    assert image['tags'].text == 'tags: {b: c}'
    assert image['filters'].text == 'filters:\n  - key: x'
    assert image['filters'].parts['key'].text == 'key: x'
    assert image['other'].text == 'other: |\n  one\n    two'
    assert image['more'].text == 'more: 1'
    assert found['provider and section'].keys() == {
        'name', 'images', 'image-defaults'}
