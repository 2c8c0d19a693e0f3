"""A provider in error goes on as it was, until it is right again or gone."""


import pytest

from tests.unit.configloader.tenant import (
    CONFIG,
    NODES,
    Tenant,
    change,
    loadAgain,
    write,
)

OBJECTS = (CONFIG, 'main', 'zuul.d/objects.yaml')
DESK = (NODES, 'main', 'zuul.d/desk.yaml')
OTHER = (NODES, 'main', 'zuul.d/other.yaml')
PROVIDER = '''
- provider:
    name: desk
    section: desk
    labels:
      - name: debian
        boot-timeout: 5
'''
FILES = {
    OBJECTS: '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes: [{name: 192.0.2.1, label: debian}]
''',
    DESK: PROVIDER,
    OTHER: PROVIDER.replace('name: desk', 'name: other')}

pytestmark = pytest.mark.usefixtures('seams')


@pytest.fixture
def tenant(zk_client, context):
    """It has two providers, which are told to launchers."""
    tenant = Tenant(FILES, zk_client=zk_client)
    assert tenant.errors == []
    write(tenant, context)
    return tenant


def getTimeouts(tenant):
    return {name: provider.labels['debian'].boot_timeout
            for name, provider in tenant.layout.providers.items()}


BROKEN = {
    'attribute': PROVIDER.replace('boot-timeout: 5', 'bot-timeout: 7'),
    'value': PROVIDER.replace('boot-timeout: 5', 'boot-timeout: soon'),
    'section': PROVIDER.replace('section: desk', 'section: dask'),
    'label': PROVIDER.replace('name: debian', 'name: debain'),
    'shape': '- provider: {name: desk, section: [desk]}',
    'no section': '- provider: {name: desk}',
    'no name': '- provider: {name: 3, section: desk}',
    'file': '- provider: {name: desk',
    'no stanza': '- provider: 3',
}


@pytest.mark.parametrize('text', BROKEN.values(), ids=BROKEN)
def test_a_provider_in_error_stays_as_it_was(tenant, context, text):
    before = tenant.layout.providers['desk'].labels['debian'].config_hash
    change(tenant, DESK, text)
    assert getTimeouts(tenant) == {'desk': 5, 'other': 5}
    errors = tenant.errors
    loadAgain(tenant)
    assert tenant.errors == errors
    assert getTimeouts(tenant) == {'desk': 5, 'other': 5}
    assert tenant.layout.providers['desk'].labels[
        'debian'].config_hash == before
    assert tenant.errors
    # A scheduler that starts anew knows nothing but what is written.
    write(tenant, context)
    change(tenant, DESK, text)
    assert getTimeouts(tenant) == {'desk': 5, 'other': 5}


def test_the_error_says_that_it_stays(tenant):
    change(tenant, DESK, BROKEN['attribute'])
    error, = tenant.errors
    assert 'bot-timeout' in error
    assert error.endswith(
        'Until this is corrected, the previous definition of the provider '
        'stays in use')


def test_a_provider_is_as_written_when_it_is_right_again(tenant):
    change(tenant, DESK, BROKEN['attribute'])
    change(tenant, DESK, PROVIDER.replace('5', '7'))
    assert tenant.errors == []
    assert getTimeouts(tenant) == {'desk': 7, 'other': 5}


@pytest.mark.parametrize('text', ['[]', '- image: {name: new, type: cloud}'])
def test_a_provider_that_is_removed_is_gone(tenant, text):
    change(tenant, DESK, text)
    assert getTimeouts(tenant) == {'other': 5}


def test_a_provider_that_is_removed_does_not_stay_for_anothers_error(tenant):
    change(tenant, OTHER, '[]')
    change(tenant, DESK, BROKEN['shape'])
    assert getTimeouts(tenant) == {'desk': 5}


def test_what_a_provider_is_made_of_may_be_in_error(tenant):
    change(tenant, OBJECTS, FILES[OBJECTS].replace(
        'images: [debian]', 'images: [debain]'))
    assert getTimeouts(tenant) == {'desk': 5, 'other': 5}
    assert len(tenant.errors) == 2


def test_a_provider_that_was_never_right_is_missing(tenant):
    change(tenant, DESK, BROKEN['attribute'].replace(
        'name: desk', 'name: new'))
    assert getTimeouts(tenant) == {'other': 5}
    assert len(tenant.errors) == 1


def test_a_provider_does_not_stay_as_the_operator_forbids_it(tenant):
    """Whoever is forbidden something must not keep it by a typo."""
    tenant.connections.connections['null'].connection_config['tenants'] = (
        'another')
    change(tenant, DESK, BROKEN['attribute'])
    assert getTimeouts(tenant) == {}
    change(tenant, DESK, BROKEN['file'])
    assert getTimeouts(tenant) == {}


def test_a_provider_does_not_stay_without_its_connection(tenant):
    del tenant.connections.connections['null']
    change(tenant, DESK, PROVIDER)
    assert getTimeouts(tenant) == {}


def test_providers_of_a_project_that_may_have_none_any_more_are_gone(tenant):
    tpc = tenant.tenant.getTPC('example.com/nodes')
    tpc.load_classes -= {'provider'}
    change(tenant, DESK, BROKEN['file'])
    assert getTimeouts(tenant) == {}


def test_a_change_under_review_gets_the_error(tenant):
    layout, _ = tenant.propose({DESK: BROKEN['attribute']})
    error, = layout.loading_errors.errors
    assert 'bot-timeout' in error.error
    assert 'stays in use' not in error.error
