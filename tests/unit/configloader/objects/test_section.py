import pytest
import voluptuous as vs
import zuul.configloader

from tests.fixtures import layout
from zuul_nodes.configloader.objects.section import SectionParser


def parse(text, parser_class=SectionParser):
    section, = layout.parse(text, {'section': parser_class})
    return section


STATIC = '''
    - section:
        name: desk
        connection: null
        nodes:
          - name: 192.0.2.1
            label: big
'''


def test_null_connection():
    section = parse(STATIC)
    # In the config, too: it is validated against the driver's schema.
    assert section.connection == section.config['connection'] == 'null'
    assert section.config['nodes'] == [
        {'name': '192.0.2.1', 'label': 'big'}]


def test_zuul_itself_refuses_it():
    # When this no longer holds, the parser of ours can go.
    with pytest.raises(vs.Invalid):
        parse(STATIC, zuul.configloader.SectionParser)


def test_named_connection():
    assert parse('''
        - section:
            name: west
            connection: cloud
    ''').connection == 'cloud'


def test_no_connection_is_inherited():
    section = parse('''
        - section:
            name: west
            parent: base
    ''')
    assert section.connection is None
    assert 'connection' not in section.config


@pytest.mark.parametrize('value', ['3', '[]', 'true', '{}'])
def test_not_a_connection(value):
    with pytest.raises(vs.Invalid, match='connection'):
        parse(f'- section: {{name: west, connection: {value}}}')
