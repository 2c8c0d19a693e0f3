"""A central list of static nodes: each tenant takes those whose labels it
has."""

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
