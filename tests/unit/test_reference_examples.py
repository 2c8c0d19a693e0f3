"""The examples of all attributes, as the reference shows them."""

import configparser
import pathlib

import pytest
import yaml

from tests.fixtures.exampledrivers import DRIVERS, FILES
from zuul_nodes.configloader.flattening.spellings import SPELLINGS
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.reference import examples, getSections
from zuul_nodes.reference.attributes import CONNECTION
from zuul_nodes.testing.layout import makeConnections, makeProviders

ALIASES = {'driver', *(name for names in SPELLINGS for name in names)}
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


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_every_example_has_an_attribute(name):
    found = examples.read(EXAMPLES / name)
    common = {kind: {each.name for each in attributes}
              for kind, attributes in getSections()}
    for kind, attributes in getSections(DRIVERS.get(name)):
        known = {each.name for each in attributes} | common.get(kind, set())
        assert found.get(kind, {}).keys() - known - ALIASES == set(), kind


def findUnexplained(attributes, is_option=False):
    for each in attributes:
        # Zuul leaves some of its attributes without a description.
        if not each.doc.strip() and (is_option or not each.is_zuuls):
            yield each.name
        yield from findUnexplained(each.parts)


@pytest.mark.parametrize('name', ['any', *DRIVERS])
def test_attributes_are_explained(name):
    assert [f'{name}: {kind}: {missing}'
            for kind, attributes in getSections(DRIVERS.get(name))
            for missing in findUnexplained(attributes, kind == CONNECTION)
            ] == []


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


def test_the_first_line_of_an_option_is_its_example():
    found = examples.readOptions('''
[connection a]
name = x
other = y
name = z
''')
    assert found['name'].text == 'name = x'
    assert found['other'].text == 'other = y'


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
