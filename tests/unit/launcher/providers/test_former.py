"""Of each endpoint, a provider is kept that can be made again."""

import configparser
import types
from unittest import mock

import pytest
from zuul.driver.openstack.openstackendpoint import OpenstackProviderEndpoint

from tests.fixtures.launcher import makeProviders
from tests.fixtures.layout import makeConnections
from zuul_nodes.launcher.providers.former import FormerProviders
from zuul_nodes.launcher.providers.scope import Scope

# Options of the connection, the image, the flavor and the section, and the
# name of the endpoint.
DRIVERS = {
    'aws': ('', 'image-id: a', 'instance-type: t3.small', 'region: north',
            'cloud-north'),
    'openstack': ('cloud=north', 'image-id: a', 'flavor-name: small',
                  'region: north', 'cloud-north'),
    'openstack, no region': (
        'cloud=north', 'image-id: a', 'flavor-name: small',
        'launch-attempts: 2', 'cloud-None'),
    'kubernetes': ('', 'python-path: auto', 'kind: namespace',
                   'launch-attempts: 2', 'cloud'),
}
CONFIG = '''
- image: {{name: debian, type: cloud, {image}}}
- flavor: {{name: small, {flavor}}}
- label: {{name: node, image: debian, flavor: small}}
- section:
    name: desk
    connection: cloud
    images: [debian]
    flavors: [small]
    {section}
- provider: {{name: desk, section: desk, labels: [node]}}
'''


@pytest.mark.parametrize('driver', DRIVERS)
def test_drivers(monkeypatch, zk_client, driver):
    """Zuul's own make a provider of what is kept, at the same endpoint."""
    options, image, flavor, section, endpoint_name = DRIVERS[driver]
    name = driver.split(',')[0]
    # It would look for clouds.yaml.
    for method in ('_getClient', '_getRegionConfig'):
        monkeypatch.setattr(
            OpenstackProviderEndpoint, method, mock.MagicMock())
    config = configparser.ConfigParser()
    config.read_string(f'[connection cloud]\ndriver={name}\n{options}')
    connections = types.SimpleNamespace(connections=makeConnections(config))
    provider, = makeProviders(connections, CONFIG.format(
        image=image, flavor=flavor, section=section), zk_client=zk_client)
    assert provider.labels
    places = FormerProviders(zk_client, connections, 'system')
    place = 'cloud', endpoint_name
    assert places.find(place) is None
    places.keep(Scope({'tenant': [provider]}))
    found = places.find(place)
    assert found.getEndpoint() is provider.getEndpoint()
    assert found.canonical_name == provider.canonical_name
    assert not found.labels
    # Its cloud is not called here.
    assert not found.getEndpoint().started
    # It is made once.
    assert places.find(place) is found
    # What all nodes are deleted with.
    node = provider.driver.getProviderNodeClass()()
    assert found.getDeleteStateMachine(node, None)
