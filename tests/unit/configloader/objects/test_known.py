"""What no provider uses is checked where it is written, at once."""

import pytest

from tests.unit.configloader.tenant import CONFIG, NODES, Tenant

OBJECTS = (NODES, 'main', 'zuul.d/objects.yaml')
PROVIDERS = (CONFIG, 'main', 'zuul.d/providers.yaml')

pytestmark = pytest.mark.usefixtures('seams')


def load(text):
    """:return: the errors of a tenant with these objects."""
    tenant = Tenant({OBJECTS: text, (CONFIG, 'main', 'zuul.d/none.yaml'):
                     '[]'})
    for error in tenant.layout.loading_errors.errors:
        assert error.key.context.project_canonical_name == 'example.com/nodes'
        assert error.key.mark is not None
    return tenant.errors


@pytest.mark.parametrize('text, expected', [
    ('- image: {name: debian, type: zuul, usrname: zuul}',
     'The image "debian" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has the attribute "usrname", which no '
     'driver knows. Did you mean "username"?'),
    ('- flavor: {name: small, public-ipv3: true}', '"public-ipv3"'),
    ('- label: {name: debian, min-redy: 1}',
     'which no driver knows. Did you mean "min-ready"?'),
    ('- section: {name: desk, connection: null, regionn: here}',
     'Did you mean "region"?'),
    ('- image: {name: debian, type: zuul}\n'
     '- section: {name: desk, connection: null, images: [{name: debian, '
     'usrname: zuul}]}',
     'The entry for the image "debian" of the section "desk" (project '
     'example.com/nodes, branch main, file zuul.d/objects.yaml, line 2) has '
     'the attribute "usrname"'),
    ('- section: {name: desk, connection: null, nodes: [{name: "desk:22", '
     'label: big}]}',
     'The section "desk" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has an invalid value for "nodes": A '
     'node in "nodes" has the address "desk:22", which is neither a host '
     'name nor an IP address. Write the address as "desk" and the port as '
     '"connection-port: 22" at 0'),
    ('- section: {name: desk, connection: null, nodes: 7}',
     'has an invalid value for "nodes": expected a list, not 7'),
    ('- section: {name: desk, connection: nul}',
     'has the connection "nul", which zuul.conf does not have. Did you mean '
     '"null"?'),
    ('- section: {name: desk, parent: dask}',
     'refers to the section "dask", which this tenant does not have'),
    ('- label: {name: debian, min-ready: -3}',
     'The label "debian" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has an invalid value for "min-ready": '
     'expected a whole number from 0 to 1000000, not -3'),
    ('- label: {name: debian, min-ready: true}', '1000000, not True'),
    ('- label: {name: debian, boot-timeout: -3}',
     'a whole number of seconds from 0 to 604800, not -3'),
    ('- label: {name: debian, min-retention-time: [1]}', 'not a list'),
    ('- label: {name: debian, min-ready: two}',
     'The label "debian" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has an invalid value for "min-ready": '
     "expected a whole number from 0 to 1000000, not 'two'"),
    ('- image: {name: debian, type: zuul, username: 3}',
     'The image "debian" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has an invalid value for "username": '
     'expected str, not 3'),
    ('- image: {name: debian, type: zuul, retain-count: 0}',
     'has an invalid value for "retain-count": expected a whole number from '
     '1 to 1000, not 0'),
    ('- flavor: {name: small, public-ipv4: maybe}',
     """has an invalid value for "public-ipv4": expected bool, not 'maybe'"""),
    ('- label: {name: debian, retain-count: 2}',
     'The label "debian" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has the attribute "retain-count", which '
     'belongs to images, not to labels. Move it there'),
    ('- flavor: {name: small, upload-methods: [image]}',
     'belongs to images, not to flavors'),
    ('- label: {name: debian, region: here}',
     'belongs to sections and providers, not to labels'),
    ('- section: {name: desk, connection: null, label-defaults: '
     '{import-timeout: 3}}',
     '"label-defaults" of the section "desk" (project example.com/nodes, '
     'branch main, file zuul.d/objects.yaml, line 1) has the attribute '
     '"import-timeout", which belongs to images'),
    ('- section: {name: desk, connection: null, image-defaults: '
     '{usrname: zuul}}', 'Did you mean "username"?'),
    ('- section: {name: desk, connection: null, az: [1]}',
     'has an invalid value for "az": expected str'),
    ('- section: {name: desk, connection: null, labels: [{name: [1]}]}',
     'The section "desk" (project example.com/nodes, branch main, file '
     'zuul.d/objects.yaml, line 1) has an entry in "labels" without the name '
     'of a label'),
    ('- image: {name: debian, type: zuul, import-timeout: [1]}',
     'not a list'),
    ('- section: {name: desk, connection: null, launch-timeout: true}',
     'has an invalid value for "launch-timeout"'),
])
def test_an_object_that_nobody_uses(text, expected):
    error, = load(text)
    assert expected in error


@pytest.mark.parametrize('text', [
    '- image: {name: debian, type: zuul, username: zuul, config-drive: true}',
    '- flavor: {name: small, instance-type: small}',
    '- label: {name: debian, min-ready: 0, max-ready-age: 3600, az: a}',
    '- image: {name: debian, type: zuul}\n'
    '- section: {name: desk, parent: base, region: here, az: [a, b]}\n'
    '- section: {name: base, abstract: true, connection: null, '
    'image-defaults: {username: zuul, import-timeout: 3}, images: [debian]}',
    # A section may serve tenants that have more.
    '- section: {name: desk, connection: null, images: [debian], '
    'flavors: [small], labels: [{name: debian, boot-timeout: 3}]}',
    '- label: {name: debian, aliases: debian, tags: {a: b}, spec: {a: b}}',
])
def test_an_object_that_is_right_for_any_driver(text):
    assert load(text) == []


def test_sections_that_inherit_from_themselves():
    errors = load('''
- section: {name: one, parent: two}
- section: {name: two, parent: one}
- section: {name: three, parent: three}
''')
    assert len(errors) == 3
    assert 'inherits from itself: "one" -> "two" -> "one"' in errors[0]
    assert 'inherits from itself: "three" -> "three"' in errors[2]


def test_a_change_under_review_gets_the_error():
    tenant = Tenant({OBJECTS: '- flavor: {name: small}',
                     (CONFIG, 'main', 'zuul.d/none.yaml'): '[]'})
    layout, _ = tenant.propose({OBJECTS: '''
- flavor: {name: small}
- section: {name: one, parent: one}
- label: {name: debian, min-redy: 1}
'''})
    errors = [' '.join(error.short_error.split())
              for error in layout.loading_errors.errors]
    assert len(errors) == 2
    assert any('Did you mean "min-ready"?' in error for error in errors)
    assert any('inherits from itself: "one" -> "one"' in error
               for error in errors)


def test_an_object_with_an_unknown_attribute_is_there_for_others():
    """One mistake gives one error."""
    error, = load('''
- image: {name: debian, type: zuul, usrname: zuul}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
''')
    assert 'usrname' in error
