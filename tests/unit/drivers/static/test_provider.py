"""The provider of static nodes, beside Zuul's own."""

import pytest
import zuul.driver.static
from zuul.driver.static import staticprovider
from zuul.provider import BaseProvider

from tests.fixtures.staticnodes import (
    makeConfig,
    makeProvider,
    withoutInternal,
)
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.drivers.static.provider import StaticProvider

NODE = {'name': '192.0.2.1', 'label': 'desk'}
LABELS = [{'name': 'desk'},
          {'name': 'chair', 'aliases': ['seat'], 'boot-timeout': 7,
           'host-key-checking': False}]
OWN = {'name': 'desk', 'zuul_nodes': {'image': {
    'username': 'label', 'python-path': '/label', 'connection-port': 1,
    'tags': {}}}}


def getNode(config):
    node, = makeProvider(config).nodes.values()
    return node


@pytest.mark.parametrize('config', [
    makeConfig(NODE),
    makeConfig(NODE, {**NODE, 'connection-port': 2222}, labels=LABELS),
    makeConfig({**NODE, 'aliases': 'lamp', 'username': ''},
               {'name': 'b', 'label': 'chair', 'aliases': ['lamp', 'x']},
               labels=LABELS, username='image'),
    makeConfig({**NODE, 'host-key': 'anything'}, connection_port=0,
               username='', python_path='auto', shell_type='cmd'),
    makeConfig(NODE, connection_type='winrm'),
    makeConfig(NODE, connection_type='winrm', connection_port=5986),
])
def test_what_zuul_accepts_stays(config):
    ours, zuuls = (makeProvider(config, driver_class) for driver_class in (
        StaticDriver, zuul.driver.static.StaticDriver))
    assert type(zuuls) is staticprovider.StaticProvider
    assert ours.serialize(None) == zuuls.serialize(None)
    assert ours.nodes.keys() == zuuls.nodes.keys()
    for kind in ('labels', 'images', 'flavors', 'nodes'):
        for name, part in getattr(zuuls, kind).items():
            ours_too = vars(getattr(ours, kind)[name])
            assert ours_too | vars(part) == ours_too
            if kind != 'nodes':
                assert ours_too == vars(part)


def test_record():
    config = makeConfig({'name': ['desk', 'chair'], 'host': '192.0.2.1',
                         'python-path': ''},
                        labels=[OWN, LABELS[1]])
    config['include-all-node-labels'] = True
    provider = makeProvider(config)
    # The record has what was written, and is read by our class again.
    assert provider.config == config
    raw = provider._compressData(provider.serialize(None))
    connections = {'null': provider.connection}
    read = BaseProvider._fromRaw(None, raw, None, {
        'connections': type('Registry', (), {'connections': connections}),
        'system_id': 'system', 'zk_client': None})
    assert type(read) is StaticProvider
    assert read.config == config
    assert ({key: vars(node) for key, node in read.nodes.items()}
            == {key: vars(node) for key, node in provider.nodes.items()})
    assert read.include_all_node_labels is True


@pytest.mark.parametrize('internal', [False, True])
def test_schema(internal):
    schema = StaticDriver().getProviderSchema(internal)
    assert [str(key) for key in schema.schema].count('nodes') == 1
    config = makeConfig(
        {'labels': ['desk', 'chair'], 'host': '192.0.2.1',
         'connection-port': 1, 'username': '', 'connection-type': 'winrm',
         'python-path': 'auto', 'shell-type': 'cmd', 'boot-timeout': 0,
         'host-key-checking': False},
        labels=[OWN, LABELS[1]])
    config['include-all-node-labels'] = True
    if not internal:
        config = withoutInternal(config)
    assert schema(config)['include_all_node_labels'] is True
    del config['include-all-node-labels']
    assert schema(config)['include_all_node_labels'] is False


def test_id_is_the_same_by_any_spelling():
    expected = getNode(makeConfig(NODE)).node_id
    for entry in ({'name': 'first', 'host': '192.0.2.1', 'label': 'desk'},
                  {'name': ['desk'], 'host': '192.0.2.1'},
                  {**NODE, 'python-path': 'auto', 'boot-timeout': 7}):
        assert getNode(makeConfig(entry)).node_id == expected


def test_precedence():
    image = {'username': 'image', 'python_path': '/image',
             'shell_type': 'image', 'connection_port': 7}
    node = getNode(makeConfig(NODE, **image))
    assert (node.username, node.python_path, node.shell_type,
            node.connection_port) == ('image', '/image', 'image', 7)
    node = getNode(makeConfig(NODE, labels=[OWN], **image))
    assert (node.username, node.python_path, node.shell_type,
            node.connection_port) == ('label', '/label', 'image', 1)
    entry = {**NODE, 'username': '', 'python-path': '', 'shell-type': '',
             'connection-port': 9}
    node = getNode(makeConfig(entry, labels=[OWN], **image))
    assert (node.username, node.python_path, node.shell_type,
            node.connection_port) == ('', '', '', 9)
    assert node.connection_type == 'ssh'
    # The label's image is that of other labels, too.
    provider = makeProvider(makeConfig(NODE, labels=[OWN], **image))
    assert provider.images['debian'].username == 'image'


def test_label_and_node():
    node = getNode(makeConfig({'name': 'a', 'label': 'chair'},
                              labels=LABELS))
    assert (node.boot_timeout, node.host_key_checking) == (7, False)
    node = getNode(makeConfig(
        {'name': 'a', 'label': 'chair', 'boot-timeout': 0,
         'host-key-checking': True}, labels=LABELS))
    assert (node.boot_timeout, node.host_key_checking) == (0, True)
    node = getNode(makeConfig({**NODE, 'host-key-checking': False}))
    assert (node.boot_timeout, node.host_key_checking) == (300, False)


@pytest.mark.parametrize('attributes, image, port', [
    ({'connection-type': 'winrm'}, {}, 5986),
    ({'connection-type': 'winrm'}, {'connection_port': 2222}, 5986),
    ({'connection-type': 'ssh'}, {'connection_type': 'winrm'}, 22),
    ({'connection-type': 'ssh'}, {'connection_port': 2222}, 2222),
    ({'connection-type': 'network_cli'}, {'connection_port': 2222}, 22),
    ({'connection-type': 'psrp'}, {}, 5986),
    ({'connection-type': 'netconf'}, {}, 830),
    ({'connection-type': 'httpapi'}, {}, 443),
    # Nothing connects there.
    ({'connection-type': 'local'}, {'connection_port': 2222}, None),
    ({'connection-type': 'local', 'connection-port': 22}, {}, None),
])
def test_port_of_another_connection_type(attributes, image, port):
    node = getNode(makeConfig(NODE | attributes, **image))
    assert node.connection_port == port
    assert node.connection_type == attributes['connection-type']


@pytest.mark.parametrize('jobs, label, expected', [
    (None, {}, 1), (None, {'slots': 3}, 3), (2, {}, 2), (2, {'slots': 3}, 2),
    (1, {'slots': 3}, 1)])
def test_number_of_jobs(jobs, label, expected):
    attributes = {} if jobs is None else {'max-parallel-jobs': jobs}
    node = getNode(makeConfig(NODE | attributes, labels=[
        {'name': 'desk', **label}]))
    assert node.slots == expected


def test_number_of_jobs_makes_other_nodes():
    ids = [getNode(makeConfig(NODE | attributes)).node_id for attributes in (
        {}, {'max-parallel-jobs': 1}, {'max-parallel-jobs': 2})]
    assert len(set(ids)) == 3
    provider = makeProvider(makeConfig({**NODE, 'max-parallel-jobs': 2}))
    assert provider.nodes.keys() == {ids[2]}


def test_labels_that_others_have():
    provider = makeProvider(makeConfig(
        NODE, {'name': 'b', 'label': 'lamp'},
        {'name': 'c', 'labels': ['lamp', 'desk', 'bed']}))
    assert {node.name: (node.label, node.aliases)
            for node in provider.nodes.values()} == {
        '192.0.2.1': ('desk', []), 'c': ('desk', [])}


def test_no_node_is_left():
    assert makeProvider(makeConfig({'name': 'b', 'label': 'x'})).nodes == {}


def test_unreadable_host_key_is_kept():
    node = getNode(makeConfig({**NODE, 'host-key': 'no key\n'}))
    assert node.host_keys == ['no key']


def test_labels_need_no_image():
    assert StaticDriver.labels_need_image is False
