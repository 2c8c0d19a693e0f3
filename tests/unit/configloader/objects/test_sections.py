"""Sections inherit from sections, and providers from them."""

import pytest
import zuul.configloader

from tests.fixtures.layout import flatten, makeLayout
from zuul_nodes.configloader.errors import (
    SectionError,
    UnknownAttributeError,
    UnknownNameError,
)

BUILDING_BLOCKS = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
'''
PROVIDER = '''
- provider:
    name: desk-provider
    section: desk
    labels: [debian]
'''
BASE = '''
- section:
    name: base
    abstract: true
    description: What all have.
    connection: null
    launch-timeout: 600
    images: [debian]
    flavors: [small]
'''
DESK = '''
- section:
    name: desk
    parent: base
    description: A desk.
    nodes: [{name: 192.0.2.1, label: debian}]
'''


def test_inheritance():
    config = flatten(BUILDING_BLOCKS + BASE + DESK + PROVIDER)
    assert config['connection'] == 'null'
    assert config['launch-timeout'] == 600
    assert [image['name'] for image in config['images']] == ['debian']
    assert [node['name'] for node in config['nodes']] == ['192.0.2.1']


@pytest.mark.parametrize('depth', [0, 1, 30])
def test_any_depth(depth):
    chain, parent = '', 'base'
    for number in range(depth):
        chain += f'- section: {{name: s{number}, parent: {parent}}}\n'
        parent = f's{number}'
    config = flatten(BUILDING_BLOCKS + BASE + chain
                     + DESK.replace('parent: base', f'parent: {parent}')
                     + PROVIDER)
    assert config['launch-timeout'] == 600


def test_description_of_a_provider():
    flatten(BUILDING_BLOCKS + BASE + DESK
            + PROVIDER + '    description: For all.\n')


def test_abstract_section():
    with pytest.raises(SectionError, match=(
            r'The provider "desk-provider" is attached to the abstract '
            r'section "base" \(project example.com/nodes, branch main, file '
            r'zuul.d/nodes.yaml, line 6\). Attach it to a section whose '
            r'parent is "base"')):
        flatten(BUILDING_BLOCKS + BASE + DESK
                + PROVIDER.replace('section: desk', 'section: base'))


def test_unknown_section():
    with pytest.raises(SectionError, match=(
            r'The provider "desk-provider" refers to the section "desc", '
            r'which this tenant does not have. Did you mean "desk"\?')):
        flatten(BUILDING_BLOCKS + BASE + DESK
                + PROVIDER.replace('section: desk', 'section: desc'))


def test_unknown_parent():
    with pytest.raises(SectionError, match=(
            r'The section "desk" \(.*line 15\) refers to the section '
            r'"ground", .* There are: "base", "desk"')):
        flatten(BUILDING_BLOCKS + BASE
                + DESK.replace('parent: base', 'parent: ground') + PROVIDER)


def test_cycle():
    with pytest.raises(SectionError, match=(
            'inherits from itself: "desk" -> "base" -> "desk"')):
        flatten(BUILDING_BLOCKS
                + BASE.replace('connection: null', 'parent: desk')
                + DESK + PROVIDER)


def test_own_parent():
    with pytest.raises(SectionError, match='itself: "desk" -> "desk"'):
        flatten(BUILDING_BLOCKS
                + DESK.replace('parent: base', 'parent: desk') + PROVIDER)


def test_a_connection_is_not_changed():
    # As in Zuul: a null connection counts as one.
    with pytest.raises(SectionError, match=(
            r'section "desk" .* changes the connection of the section')):
        flatten(BUILDING_BLOCKS + BASE + PROVIDER + DESK.replace(
            'parent: base', 'parent: base\n    connection: null'))


@pytest.mark.parametrize('old, new, expected', [
    ('labels: [debian]', 'labels: [debain]',
     r'The provider "desk-provider" \(.*\) refers to the label "debain", '
     r'which this tenant does not have. Did you mean "debian"\?'),
    ('images: [debian]', 'images: [{name: fedora}]',
     r'The section "base" \(.*line 6\) refers to the image "fedora", .* '
     r'There are: "debian"'),
    ('flavors: [small]', 'flavors: [smal]', r'Did you mean "small"\?'),
    ('labels: [debian]', 'labels: [{boot-timeout: 3}]',
     r'has an entry in "labels" without the name of a label'),
    ('labels: [debian]', 'labels: [{name: [debian]}]',
     r'has an entry in "labels" without the name of a label'),
])
def test_unknown_name(old, new, expected):
    text = BUILDING_BLOCKS + BASE + DESK + PROVIDER
    assert old in text
    with pytest.raises(UnknownNameError, match=expected):
        flatten(text.replace(old, new))


def test_what_zuul_shows():
    layout = makeLayout(PROVIDER)
    provider_config, = layout.provider_configs.values()
    errors = []
    accumulator = zuul.configloader.LocalAccumulator(errors).extend(
        stanza='provider', conf=provider_config)
    with accumulator.catchErrors():
        provider_config.flattenConfig(layout, {})
    error, = errors
    assert error.name == 'Section Error'
    assert error.key.context.path == 'zuul.d/nodes.yaml'
    for expected in (
            'configuration in the repo nodes on branch main',
            'refers to the section "desk", which this tenant does not have',
            'There are none.',
            'The problem appears in the "desk-provider" provider stanza:',
            'line 2'):
        assert expected in ' '.join(error.error.split()), error.error


def test_project_that_zuul_shows():
    with pytest.raises(UnknownAttributeError) as caught:
        flatten(BUILDING_BLOCKS + BASE + DESK + PROVIDER
                + '    boot-speed: 3\n')
    assert caught.value.source_context.project_name == 'nodes'
