"""A central section: each tenant takes the part of its lists that it has."""

import pytest

from tests.unit.configloader.tenant import CONFIG, NODES, Tenant

SECTION = '''
- section:
    name: desk
    connection: null
    nodes:
      - {name: 192.0.2.1, label: debian}
      - {name: 192.0.2.2, label: fedora}
'''
PROVIDER = '''
- label: {name: debian}
- provider:
    name: desk
    section: desk
    labels: [debian]
'''

pytestmark = pytest.mark.usefixtures('seams')


def test_nodes_whose_label_a_tenant_does_not_have_are_left_out():
    tenant = Tenant({(CONFIG, 'main', 'zuul.d/desk.yaml'): SECTION,
                     (NODES, 'main', 'zuul.d/desk.yaml'): PROVIDER})
    assert tenant.errors == []
    provider = tenant.layout.providers['desk']
    assert [node.name for node in provider.nodes.values()] == ['192.0.2.1']


def test_label_of_a_node_in_a_list_of_ones_own_has_to_be_there():
    tenant = Tenant({(CONFIG, 'main', 'zuul.d/none.yaml'): '[]',
                     (NODES, 'main', 'zuul.d/desk.yaml'): SECTION + PROVIDER})
    error, = tenant.errors
    assert 'Label "fedora" is not attached to provider "desk" (' in error
    assert 'this tenant does not have that label' in error


CENTRAL = '''
- section:
    name: base
    abstract: true
    images: [debian, fedora]
    flavors: [small, {name: large, description: Many processors.}]
- section:
    name: room
    parent: base
    connection: null
    nodes: [{name: 192.0.2.1, label: debian}]
    images: [{name: centos, username: centos}]
    labels: [{name: centos, boot-timeout: 5}, {name: debian, boot-timeout: 7}]
'''
OWN = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
'''
ATTACHED = '''
- provider: {name: room, section: room}
'''


def load(own, central=CENTRAL):
    return Tenant({(CONFIG, 'main', 'zuul.d/central.yaml'): central,
                   (NODES, 'main', 'zuul.d/own.yaml'): own})


@pytest.mark.parametrize('own', [OWN, '[]'])
def test_a_section_that_a_tenant_does_not_attach_is_no_error(own):
    assert load(own).errors == []


def test_a_provider_gets_the_entries_for_objects_that_its_tenant_has():
    tenant = load(OWN + ATTACHED)
    assert tenant.errors == []
    provider = tenant.layout.providers['room']
    assert [*provider.images] == ['debian']
    assert [*provider.flavors] == ['small']
    assert provider.labels['debian'].boot_timeout == 7
    assert len(provider.labels) == 1


@pytest.mark.parametrize('old, new', [
    ('image: debian', 'image: fedora'), ('flavor: small', 'flavor: large')])
def test_a_label_that_needs_what_its_tenant_does_not_have_is_an_error(
        old, new):
    tenant = load(OWN.replace(old, new) + ATTACHED)
    kind, name = new.split(': ')
    assert any(
        f'needs the {kind} "{name}", which the provider "room" (' in error
        and f'this tenant does not have that {kind}. Did you' not in error
        for error in tenant.errors), tenant.errors
    assert tenant.layout.providers == {}


def test_what_a_provider_itself_names_has_to_be_there():
    error, = load(OWN + ATTACHED.replace(
        'section: room', 'section: room, images: [fedora]')).errors
    assert 'The provider "room" (' in error, error
    assert 'refers to the image "fedora", which this tenant does not' in error


def test_what_a_section_of_the_same_project_names_has_to_be_there():
    error, = load(OWN + CENTRAL + ATTACHED, '[]').errors
    assert 'The section "base" (' in error
    assert 'refers to the image "fedora", which this tenant does not' in error


def test_a_final_list_of_a_section_may_name_more_than_the_tenant_has():
    tenant = load(OWN + ATTACHED, CENTRAL.replace(
        'images: [{name: centos, username: centos}]',
        'images: {replace: [centos]}'))
    # Only the list of the section with "replace" counts.
    assert any('needs the image "debian", which is not attached' in error
               for error in tenant.errors), tenant.errors
