"""The examples of the specification, as the guide shows them."""

import configparser
import pathlib

from tests.fixtures.layout import makeConnections, makeLayout

EXAMPLES = pathlib.Path(__file__).parents[3] / 'doc/source/examples'


def read(name):
    return (EXAMPLES / f'{name}.yaml').read_text()


CENTRAL = read('central')
TENANT = read('tenant')
STATIC = read('static')


def flatten(text):
    """:return: provider name -> its flat configuration, lists by name."""
    config = configparser.ConfigParser()
    config.read_string(
        '[connection rackspace]\ndriver=openstack\ncloud=rackspace\n')
    layout = makeLayout(text)
    connections = makeConnections(config)
    flat = {}
    for name, provider_config in layout.provider_configs.items():
        config = provider_config.flattenConfig(layout, connections)
        for kind in ('images', 'flavors', 'labels'):
            config[kind] = {part['name']: part for part in config[kind]}
        flat[name] = config
    return flat


def assertHas(found, **expected):
    assert {key: found.get(key.replace('_', '-')) for key in expected
            } == expected


def test_central_example():
    provider = flatten(CENTRAL)['rax-dfw-main']
    assertHas(provider, connection='rackspace', region='DFW',
              launch_timeout=600)
    assert provider['resource-limits'] == {'instances': 2000}
    assertHas(provider['images']['centos-7'], type='zuul',
              username='centos', python_path='/usr/bin/python3',
              config_drive=True)
    assertHas(provider['images']['ubuntu'], type='cloud', username='ubuntu',
              image_id='ibm-ubuntu-20-04-3-minimal-amd64-1')
    assertHas(provider['flavors']['small'], flavor_name='Performance 8G')
    assertHas(provider['flavors']['large'], flavor_name='Performance 16G')
    centos, ubuntu = (provider['labels'][name]
                      for name in ('centos-7', 'ubuntu'))
    for label in (centos, ubuntu):
        assertHas(label, boot_timeout=120, networks='some-subnet')
        assert label['zuul_nodes'] == {
            'zones': ['a', 'b'],
            'section': {'name': 'example.com%2Fnodes/rax-dfw',
                        'limits': {'instances': 2000}}}
    assertHas(centos, image='centos-7', flavor='large', min_ready=1,
              key_name='infra-root-keys-2020-05-13',
              tags={'section-info': 'foo'})
    assertHas(ubuntu, image='ubuntu', flavor='small', min_ready=None,
              key_name='infra-root-keys-2020-05-14',
              tags={'section-info': 'foo', 'provider-info': 'bar'})


def test_tenant_example():
    providers = flatten(CENTRAL + TENANT)
    provider = providers['rax-dfw-devstack']
    # Those of the section and those of the provider.
    assert set(provider['images']) == {'centos-7', 'ubuntu', 'devstack'}
    assertHas(provider['images']['devstack'], type='zuul', config_drive=True)
    assert set(provider['labels']) == {'devstack'}
    assertHas(provider['labels']['devstack'], boot_timeout=120,
              key_name='infra-root-keys-2020-05-13', networks='some-subnet')
    # What both providers have is uploaded once.
    hashes = [each['images']['centos-7']['zuul_config_hash']
              for each in providers.values()]
    assert hashes[0] == hashes[1]


def test_static_example():
    provider = flatten(STATIC)['static-provider']
    assert provider['connection'] == 'null'
    node, = provider['nodes']
    assertHas(node, name='static.example.com', username='zuul')
    assert set(provider['labels']) == {'big-static-node'}
