"""What YAML can say that is no plain data, and what becomes of it."""

import configparser
import json

import pytest
import voluptuous as vs
from zuul import model
import zuul.configloader

from tests.fixtures.layout import (
    PARSERS,
    makeConnections,
    makeLayout,
    parse,
)
from zuul_nodes.configloader.errors import (
    SectionError,
    UnknownConnectionError,
    UnknownNameError,
    ValueNotAllowedError,
)

LONG = 'x' * 70_000
CONTEXT = model.SourceContext(
    'example.com/nodes', 'nodes', 'example', 'main', 'zuul.d/nodes.yaml')


def load(text):
    """:return: the errors that Zuul shows for a stanza."""
    stanza, = zuul.configloader.safe_load_yaml(text, CONTEXT)
    (kind, conf), = stanza.items()
    errors = []
    accumulator = zuul.configloader.LocalAccumulator(errors).extend(
        source_context=CONTEXT, stanza=kind, conf=conf)
    with accumulator.catchErrors():
        PARSERS[kind](None).fromYaml(conf)
    return errors


@pytest.mark.parametrize('kind', PARSERS)
def test_aliases_of_aliases_for_a_name(kind):
    # Zuul shows the name of a stanza with an error, whatever it is.
    laughs = '[&l0 [ha], ' + ', '.join(
        f'&l{n} [' + ', '.join([f'*l{n - 1}'] * 9) + ']'
        for n in range(1, 8)) + ']'
    error, = load(f'- {kind}: {{name: {laughs}}}')
    assert 'more than 100000 values' in error.short_error
    assert len(error.error) < 10_000


@pytest.mark.parametrize('kind', PARSERS)
def test_name_that_is_none(kind):
    error, = load(f'- {kind}: {{name: [a]}}')
    assert "expected str for dictionary value @ data['name']" in error.error


@pytest.mark.parametrize('kind', PARSERS)
@pytest.mark.parametrize('mark', ['_source_context', '_start_mark'])
@pytest.mark.parametrize('value', ['x', '[]', '{a: b}', '3'])
def test_in_place_of_a_mark(kind, mark, value):
    # Zuul would raise where it makes an error of the error.
    error, = load(f'- {kind}: {{name: x, {mark}: {value}}}')
    assert f'"{mark}" is an attribute that Zuul itself adds' in error.error
    json.dumps(error.serialize())


@pytest.mark.parametrize('kind', PARSERS)
@pytest.mark.parametrize('name', ['', '.', '..', 'x' * 251])
def test_no_name(kind, name):
    with pytest.raises(ValueNotAllowedError,
                       match='is not a valid name') as caught:
        parse(f'- {kind}: {{name: "{name}"}}')
    assert len(str(caught.value)) < 400


def test_long_key():
    with pytest.raises(ValueNotAllowedError, match='a key of more than 400'):
        parse(f'- label: {{name: x, tags: {{? {LONG} : x}}}}')


@pytest.mark.parametrize('keys, right', [
    ('a: 1, b: 1', True),
    ('1: 1, 2.5: 1, true: 1', True),
    ('null: 1', True),
    ('a: 1, 1: 1', False),
    ('null: 1, 1: 1', False),
    ('null: 1, a: 1', False),
])
def test_keys_are_sorted(keys, right):
    text = f'- label: {{name: x, spec: {{{keys}}}}}'
    if right:
        label, = parse(text)
        json.dumps(label.attributes, sort_keys=True)
    else:
        with pytest.raises(ValueNotAllowedError, match='of several kinds'):
            parse(text)


@pytest.mark.parametrize('text, expected', [
    (f'- label: {{name: x, image: {LONG}}}', UnknownNameError),
    (f'- label: {{name: x, aliases: {LONG}}}', UnknownNameError),
    (f'- provider: {{name: x, section: {LONG}}}', SectionError),
    (f'- section: {{name: x, connection: {LONG}}}\n'
     '- provider: {name: x, section: x}', UnknownConnectionError),
    ('- section: {name: x, connection: null, nodes: []}\n'
     f'- provider: {{name: x, section: x, labels: [{LONG}]}}',
     UnknownNameError),
])
def test_long_reference(text, expected):
    connections = makeConnections(configparser.ConfigParser())
    layout = makeLayout(text)
    with pytest.raises(expected, match=r'"x{250}[.]{3}"') as caught:
        for label in layout.labels.values():
            label.validateReferences(layout)
        for provider_config in layout.provider_configs.values():
            provider_config.flattenConfig(layout, connections)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize('value', ['[a]', '{a: b}', '3', 'null'])
def test_connection_of_a_provider(value):
    with pytest.raises(vs.Invalid, match='connection'):
        parse(f'- provider: {{name: x, section: x, connection: {value}}}')
