"""What several clouds share may say what only one of them knows."""

import configparser

import pytest

from tests.fixtures.layout import makeConnections, makeLayout
from zuul_nodes.configloader.errors import UnknownAttributeError

ZUUL_CONF = {'connection amazon': {'driver': 'aws'},
             'connection rackspace': {'driver': 'openstack',
                                      'cloud': 'rackspace'}}
SHARED = '''
- image: {name: debian, type: cloud, config-drive: true}
- flavor: {name: small, market-type: spot}
- label: {name: debian, image: debian, flavor: small, boot-from-volume: true,
          security-group-ids: [web]}
- section:
    name: everywhere
    abstract: true
    auto-floating-ip: false
    images: [{name: debian, config-drive: false}]
    flavors: [small]
    label-defaults: {security-groups: [web]}
    floating-ip-cleanup: true
'''
AMAZON = '''
- section: {name: amazon, parent: everywhere, connection: amazon, region: us,
            images: [{name: debian, image-id: ami-1}],
            flavors: [{name: small, instance-type: t3.small}]}
- provider: {name: amazon, section: amazon, labels: [debian]}
'''
RACKSPACE = '''
- section: {name: rackspace, parent: everywhere, connection: rackspace,
            images: [{name: debian, image-id: one}],
            flavors: [{name: small, flavor-name: m1.small}]}
- provider: {name: rackspace, section: rackspace, labels: [debian]}
'''


def flatten(text, name):
    """:return: the flat configuration of a provider."""
    layout = makeLayout(text)
    config = configparser.ConfigParser()
    config.read_dict(ZUUL_CONF)
    return layout.provider_configs[name].flattenConfig(
        layout, makeConnections(config))


def test_attributes_that_another_driver_of_the_tenant_knows_are_left_out():
    amazon = flatten(SHARED + AMAZON + RACKSPACE, 'amazon')
    label, = amazon['labels']
    assert label['security-group-ids'] == ['web']
    text = str(amazon)
    for name in ('config-drive', 'boot-from-volume', 'security-groups',
                 'auto-floating-ip', 'floating-ip-cleanup'):
        assert name not in text
    rackspace = flatten(SHARED + AMAZON + RACKSPACE, 'rackspace')
    image, = rackspace['images']
    assert image['config-drive'] is False
    label, = rackspace['labels']
    assert label['boot-from-volume'] is True
    assert 'security-group-ids' not in label
    assert 'market-type' not in str(rackspace)


def test_they_are_errors_in_a_tenant_without_the_other_driver():
    with pytest.raises(UnknownAttributeError, match=(
            'which the driver aws of the provider "amazon"')):
        flatten(SHARED + AMAZON, 'amazon')


@pytest.mark.parametrize('place', [
    'region: us, config-drive: true',
    'region: us, label-defaults: {config-drive: true}',
    'region: us, labels: [{name: debian, config-drive: true}]'])
def test_they_are_errors_below_the_connection(place):
    text = SHARED + AMAZON.replace('region: us', place) + RACKSPACE
    with pytest.raises(UnknownAttributeError, match='"config-drive"'):
        flatten(text, 'amazon')


@pytest.mark.parametrize('level', ['image', 'flavor', 'label', 'section'])
def test_an_attribute_that_no_driver_knows_is_an_error(level):
    text = SHARED.replace(*{
        'image': ('type: cloud', 'type: cloud, confg-drive: true'),
        'flavor': ('market-type', 'confg-drive: true, market-type'),
        'label': ('security-group-ids', 'confg-drive: true, '
                  'security-group-ids'),
        'section': ('    abstract', '    confg-drive: true\n    abstract'),
    }[level])
    with pytest.raises(UnknownAttributeError, match='"confg-drive"'):
        flatten(text + AMAZON + RACKSPACE, 'amazon')
