"""What is configured of nodes, and of the connection."""

import pytest

from tests.fixtures.layout import makeLayout
from tests.unit.drivers.azure.sites import (
    IMAGE,
    LAYOUT,
    SUBNET,
    change,
    getProvider,
    makeConnection,
)
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers.api.bounds import BoundError

IMAGE_ID = ('/subscriptions/1/resourceGroups/other/providers/'
            'Microsoft.Compute/images/base')


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('region: eastus', 'region: eastus/../..', 'the name of a region'),
    ('resource-group: zuul', 'resource-group: ../zuul',
     'the name of a resource group'),
    ('{network: zuul}', '{network: a/b}', 'the name of a resource'),
    (IMAGE, 'image-id: base', 'the complete id of a resource'),
    (IMAGE, 'shared-gallery-image: {gallery-name: ci, name: "a b"}',
     'the name of a resource'),
    ('region:', 'use-internal-ip: maybe\n    region:', 'expected bool'),
    (SUBNET, f'{SUBNET}\n        az: east', 'expected a zone'),
    (SUBNET, f'{SUBNET}\n        userdata: {"x" * 65536}',
     'the value has 65536 bytes')])
def test_wrong(zk_client, old, new, message):
    with pytest.raises(AttributeValueError, match=message):
        getProvider(zk_client, makeConnection(), change(old, new))


def test_internal_address_is_not_used_by_default(zk_client):
    connection = makeConnection()
    assert not getProvider(zk_client, connection).use_internal_ip
    assert getProvider(zk_client, connection, change(
        'region:', 'use-internal-ip: true\n    region:')).use_internal_ip


@pytest.mark.parametrize('timeout', ['0', '-1', 'inf', 'nan', 'soon'])
def test_wrong_timeout(timeout):
    with pytest.raises(Exception, match='api_timeout'):
        makeConnection(api_timeout=timeout)


@pytest.mark.parametrize(('text', 'name'), [
    (change('resource-group: zuul', 'resource-group: other'), 'other'),
    (change('{network: zuul}', '{network: a, resource-group: b}'), 'b'),
    (change(IMAGE, f'image-id: {IMAGE_ID}'), 'other'),
    (change(SUBNET, SUBNET + '\n        user-assigned-identities: '
            '[{name: a, resource-group: c}]'), 'c')])
def test_resource_group_that_is_not_allowed(text, name):
    connection = makeConnection(resource_groups='zuul, more')
    layout = makeLayout(text)
    config, = layout.provider_configs.values()
    with pytest.raises(BoundError, match=f'"{name}".*resource_groups'):
        connection.driver.checkBounds(
            connection, config.flattenConfig(
                layout, {'azure': makeConnection()}))


def test_identity_that_is_not_allowed():
    layout = makeLayout(change(
        SUBNET, f'{SUBNET}\n        user-assigned-identities: '
                '[{name: ci}, {name: admin}]'))
    config, = layout.provider_configs.values()
    connection = makeConnection(identities='ci')
    with pytest.raises(BoundError, match=r'identity "admin".*identities'):
        connection.driver.checkBounds(
            connection, config.flattenConfig(
                layout, {'azure': makeConnection()}))


def test_resource_groups_that_are_allowed(zk_client):
    connection = makeConnection(resource_groups='zuul')
    layout = makeLayout(LAYOUT)
    config, = layout.provider_configs.values()
    connection.driver.checkBounds(
        connection, config.flattenConfig(layout, {'azure': connection}))
