"""What operators allow tenants at a connection."""

import configparser
import pathlib

import pytest

from tests.fixtures.layout import makeConnections, makeLayout
from tests.fixtures.racks import cloud
from zuul_nodes import imagetenants
from zuul_nodes.configloader.errors import BoundError
from zuul_nodes.drivers import addresses, bounds
from zuul_nodes.drivers.aws import AwsDriver
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.drivers.kubernetes import KubernetesDriver
from zuul_nodes.drivers.local import LocalDriver
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.testing import layout

STATIC = '''
- label: {name: desk}
- section:
    name: office
    connection: null
    nodes: [{name: desk, host: 192.0.2.1}]
- provider: {name: office, section: office, labels: [desk]}
'''
OPENSTACK = '''
- image: {name: debian, type: zuul, tags: {visibility: VISIBILITY}}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section:
    name: cloud
    connection: cloud
    images: [debian]
    flavors: [{name: small, flavor-name: m1.small}]
- provider: {name: cloud, section: cloud, labels: [debian]}
'''


HARDENING = (pathlib.Path(__file__).parents[3]
             / 'doc/source/examples/hardening.conf')


def flatten(text, connections):
    tenant_layout = makeLayout(text)
    provider_config, = tenant_layout.provider_configs.values()
    return provider_config.flattenConfig(tenant_layout, connections)


def getStaticConnections(tenants):
    config = configparser.ConfigParser()
    config.read_dict({'connection null': {
        'driver': 'static', **({} if tenants is None
                               else {'tenants': tenants})}})
    return makeConnections(config)


@pytest.mark.parametrize('tenants', [None, 'tenant', 'other, tenant'])
def test_a_tenant_uses_the_connections_that_are_its_own(tenants):
    assert flatten(STATIC, getStaticConnections(tenants))


def test_an_attempt_to_pass_a_bound_is_in_the_audit_log(audited):
    with pytest.raises(BoundError):
        flatten(STATIC, getStaticConnections('other'))
    line, = audited.read(event='refused')
    assert (line['tenant'], line['project'], line['provider']) == (
        'tenant', 'example.com/nodes', 'example.com%2Fnodes/office')
    assert '"tenants" of [connection null]' in line['reason']


@pytest.mark.parametrize('tenants', ['', 'other', 'tenant-b,tenants'])
def test_a_tenant_can_not_use_the_connection_of_others(tenants):
    with pytest.raises(BoundError) as info:
        flatten(STATIC, getStaticConnections(tenants))
    message = str(info.value)
    assert ('The provider "office" (project example.com/nodes, branch main, '
            'file zuul.d/nodes.yaml, line ') in message
    assert ('"tenants" of [connection null] in zuul.conf does not list '
            'its tenant "tenant"') in message
    assert 'tenant-b' not in message


def test_a_launcher_looks_again(steps, racks, audited):
    """Its zuul.conf says something else than that of the scheduler."""
    options = steps.connections.connections['rack'].connection_config
    steps.writeLayout(cloud('one'))
    options['tenants'] = 'other'
    steps.runUntilRead()
    request = steps.addRequest('big')
    assert ('"tenants" of [connection rack] in zuul.conf does not list '
            'its tenant "tenant"') in steps.waitForReason(request)
    assert racks.instances == {}
    assert audited.read(event='refused')[0].items() >= {
        'tenant': 'tenant', 'launcher': steps.hostname}.items()
    del options['tenants']
    steps.setLayout(cloud('one'))
    assert steps.servedBy(request) == ['one']


@pytest.mark.parametrize(('options', 'visibility', 'is_allowed'), [
    ({}, 'private', True),
    ({}, 'shared', True),
    ({}, 'community', False),
    ({}, 'public', False),
    ({'image_visibilities': 'private'}, 'shared', False),
    ({'image_visibilities': 'private, public'}, 'public', True),
])
def test_the_operator_says_who_may_see_images(
        options, visibility, is_allowed):
    connection = OpenstackDriver().getConnection(
        'cloud', {'cloud': 'cloud', **options})
    text = OPENSTACK.replace('VISIBILITY', visibility)
    if is_allowed:
        flatten(text, {'cloud': connection})
        return
    with pytest.raises(BoundError, match=(
            f'its image "debian" has the tag "visibility: {visibility}", and '
            r'"image_visibilities" of \[connection cloud\] in zuul.conf '
            'allows private')):
        flatten(text, {'cloud': connection})


def test_the_example_of_the_documentation_keeps_tenants_apart():
    config = configparser.ConfigParser()
    config.read(HARDENING)
    sources = addresses.ImageSources(config['launcher']['image_sources'])
    assert sources.check('https://objects.example.com/zuul/debian.raw')
    image_tenants = imagetenants.read(config)
    assert [image_tenants['image-build'].allows(
        name, 'example.com/kernel/images') for name in (
            'infra', 'kernel', 'web')] == [True, True, False]
    connections = layout.makeConnections(
        config, StaticDriver, OpenstackDriver, KubernetesDriver, GceDriver,
        AwsDriver, LocalDriver).connections
    assert connections['house'].network == 'none'
    assert bounds.getNames(connections['openstack'], 'tenants') == {
        'web', 'kernel'}
    assert not connections['null'].hosts.allowsName('192.0.2.1')
    for text, name in (
            (STATIC, 'null'),
            (OPENSTACK.replace('connection: cloud', 'connection: openstack'),
             'openstack'),
            ((HARDENING.parent / 'gce.yaml').read_text(), 'gce'),
            ((HARDENING.parent / 'local.yaml').read_text(), 'house'),
            ((HARDENING.parent / 'aws.yaml').read_text(), 'aws')):
        with pytest.raises(BoundError, match=(
                f'"tenants" of .connection {name}. in zuul.conf')):
            flatten(text, connections)
