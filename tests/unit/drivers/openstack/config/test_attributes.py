"""What is configured of nodes, and of the connection."""

import types

import pytest
import voluptuous as vs

from tests.unit.drivers.openstack.nodesites import LAYOUT, change
from zuul_nodes.configloader.errors import AttributeValueError
from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.openstack import OpenstackDriver
from zuul_nodes.drivers.openstack.cloud import marks
from zuul_nodes.drivers.openstack.cloud.flavors import chooseFlavor
from zuul_nodes.drivers.openstack.config.properties import (
    checkFormat,
    checkMetadata,
)

FLAVORS = [
    {'id': '1', 'name': 'b.large', 'ram': 4096, 'vcpus': 2, 'disk': 10},
    {'id': '2', 'name': 'a.large', 'ram': 4096, 'vcpus': 2, 'disk': 10},
    {'id': '3', 'name': 'a.huge', 'ram': 8192, 'vcpus': 2, 'disk': 10},
    {'id': '4', 'name': 'a.cpu', 'ram': 4096, 'vcpus': 8, 'disk': 10},
    {'id': '5', 'name': 'small', 'ram': 512, 'vcpus': 1, 'disk': 1},
]


def choose(name=None, min_ram=None):
    return chooseFlavor(FLAVORS, types.SimpleNamespace(
        flavor_name=name, min_ram=min_ram))['id']


@pytest.mark.parametrize(('name', 'min_ram', 'expected'), [
    ('small', None, '5'), ('3', None, '3'), (None, 600, '2'),
    (None, 1, '5'), ('huge', 600, '3'), ('b.', 4096, '1'),
    ('cpu', 1, '4'), (None, 4097, '3')])
def test_flavors(name, min_ram, expected):
    assert choose(name, min_ram) == expected


@pytest.mark.parametrize(('name', 'min_ram', 'message'), [
    ('smal', None, 'no flavor "smal". Did you mean "small"'),
    # A part of a name is none, without min-ram.
    ('large', None, 'no flavor "large"'),
    (None, 9000, 'with 9000 MiB of RAM; the largest .* has 8192 MiB'),
    ('b.', 5000, '"b." in its name')])
def test_no_such_flavor(name, min_ram, message):
    with pytest.raises(PermanentError, match=message):
        choose(name, min_ram)


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('flavor-name: m1.small', 'description: none',
     '"flavor-name" or "min-ram"'),
    ('min-ram: 4000', 'min-ram: 0', 'min-ram'),
    ('image-name: debian-12\n        image-filters: {visibility: public}',
     'python-path: auto', '"image-name", "image-id"'),
    ("'of {request.id}'", "'of {request.id'", 'cannot be filled in'),
    ("'of {request.id}'", "'of {}'", 'braces must contain one name'),
    ("'of {request.id}'", "'{request.id!r}'", 'braces must contain one name'),
    ('{owner: ci}', '{owner: 1}', 'expected a string'),
    ('{owner: ci}', f'{{owner: {256 * "x"}}}', 'has 256 characters'),
    ('port-security: false', 'port-security: none', 'networks'),
    ('port-security: false', 'fixed-ip: 127.0.0.1', 'networks'),
])
def test_wrong_attributes(makeNodes, old, new, message):
    with pytest.raises(AttributeValueError, match=message):
        makeNodes(change(old, new))


def test_names_of_the_specification(makeNodes):
    """Zuul's own names go on working, too."""
    text = change('image-name: debian-12\n        image-filters: '
                  '{visibility: public}', 'image-id: new')
    nodes = makeNodes(text.replace('flavor-name: m1.small',
                                   'cloud-flavor: m1.small'))
    image = nodes.provider.images['debian']
    assert (image.image_id, image.image_name) == ('new', None)
    assert nodes.provider.flavors['small'].flavor_name == 'm1.small'


def test_what_is_filled_in_is_no_program():
    for text in ('{node.__class__}', '{request.id}', '{nobody}'):
        assert checkFormat(text) == text
    with pytest.raises(vs.Invalid):
        checkFormat('{a:{b}}')


def test_property_of_which_nothing_is_known(makeNodes, cloud, caplog):
    nodes = makeNodes(change("'{request.tenant_name}'",
                             "'{node.__class__}'"))
    nodes.create(nodes.makeNode())
    server, = nodes.servers
    assert 'tenant' not in server['metadata']
    assert server['metadata']['request'] == 'of request-1'
    assert '"tenant"' in caplog.text


def test_limits_of_metadata():
    many = {str(number): '' for number in range(3)}
    checkMetadata(many, 'label', 3)
    checkMetadata(many, 'label', -1)
    with pytest.raises(PermanentError, match=r'has 3 tags .* have 2'):
        checkMetadata(many, 'label', 2)


def test_too_many_properties(makeNodes, cloud):
    """The cloud is not asked for such a server."""
    many = ', '.join(f'p{number}: x' for number in range(127))
    nodes = makeNodes(change('{owner: ci}', f'{{{many}}}'))
    with pytest.raises(PermanentError, match='has 131 tags'):
        nodes.create(nodes.makeNode())
    assert ('POST', '/compute/v2.1/servers') not in cloud.calls


def test_marks():
    tags = {'zuul_system_id': 32 * 'f', 'zuul_node_uuid': 32 * 'f'}
    described = marks.describe({**tags, 'other': 1000 * 'x'})
    assert len(described) < 255
    assert marks.getTags(described) == tags
    for other in (None, '', 'a', '1', '[]', '{"zuul_system_id": "a"}',
                  '{"zuul_system_id": 1, "zuul_node_uuid": 2}'):
        assert marks.getTags(other) == {}


# The connection

def test_client_config_file(makeNodes, tmp_path, clouds_yaml):
    path = tmp_path / 'elsewhere.yaml'
    path.write_text(clouds_yaml.read_text())
    clouds_yaml.unlink()
    nodes = makeNodes(client_config_file=str(path))
    nodes.create(nodes.makeNode())


@pytest.mark.parametrize(('option', 'in_clouds_yaml', 'expected'), [
    ('7', 5, 7), (None, 5, 5), (None, None, 60)])
def test_api_timeout(makeNodes, cloud, clouds_yaml, option, in_clouds_yaml,
                     expected):
    if in_clouds_yaml:
        cloud.writeConfig(clouds_yaml, api_timeout=in_clouds_yaml)
    nodes = makeNodes(**({'api_timeout': option} if option else {}))
    assert nodes.endpoint._client.session.timeout == expected


@pytest.mark.parametrize('wrong', ['0', '-1', 'a', 'nan'])
def test_wrong_api_timeout(wrong):
    with pytest.raises(Exception, match=f'greater than 0, not "{wrong}"'):
        OpenstackDriver().getConnection('cloud', {
            'cloud': 'emulator', 'api_timeout': wrong})


def test_example_is_complete(makeNodes):
    provider = makeNodes(LAYOUT).provider
    assert provider.labels['lab'].networks == [
        'private', {'name': 'lab', 'port_security': False}]
