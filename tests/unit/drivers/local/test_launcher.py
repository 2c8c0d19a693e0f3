"""With the launcher: from a request to a node and back."""

import os

import pytest
from zuul.lib.connections import ConnectionRegistry
from zuul.model import ProviderNode

from tests.fixtures import launcher as launcher_module
from tests.fixtures.launcher import Steps
from tests.fixtures.racks import finish, isDone
from tests.unit.drivers.local.sites import ssh
from zuul_nodes.drivers.local import LocalDriver, sandbox
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

LAYOUT = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: any}}
- label: {{name: small, image: debian, flavor: any}}
- section:
    name: house
    connection: house
    images: [{{name: debian, image-path: {archive}}}]
    flavors: [any]
- provider:
    name: here
    section: house
    labels: [small]
'''


@pytest.fixture
def steps(zuul_conf, options, directory, monkeypatch):
    def makeRegistry(config):
        connections = ConnectionRegistry()
        registry.wrapConfigure(
            ConnectionRegistry.configure,
            Extensions({'local': LocalDriver}, {}, {}))(
                connections, config, providers=True)
        return connections

    monkeypatch.setattr(launcher_module, 'makeRegistry', makeRegistry)
    zuul_conf.read_dict({
        'connection house': {'driver': 'local', 'max_instances': '1',
                             **options},
        'launcher': {'temp_dir': directory}})
    launcher = Steps(zuul_conf)
    yield launcher
    launcher.end()


def test_nodes(steps, archive, key, directory):
    steps.setLayout(LAYOUT.format(archive=archive))
    first = steps.addRequest('small')
    second = steps.addRequest('small')
    steps.runUntil(lambda: isDone(first) or isDone(second))
    first, second = sorted([first, second], key=isDone, reverse=True)
    node, = steps.nodes(ProviderNode.State.READY)
    instance, = steps.getProvider('here').getEndpoint().listInstances()
    assert instance.tags == node.tags
    # The scan has found what the driver has said.
    assert node.host_keys == instance.host_keys
    assert ssh(key, node, 'id -un').stdout == 'zuul\n'
    # There is room for one.
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))
    assert not steps.api.getProviderNode(node.uuid)
    assert not list((directory / 'local/nodes').glob(f'{instance.id}*'))
    finish(steps, second)
    steps.runUntil(lambda: not steps.nodes())
    assert os.listdir(directory / 'local/nodes') == []


@pytest.fixture
def refused(options, monkeypatch):
    """Nodes shall have no network, and the machine can't do that."""
    options['network'] = 'none'
    monkeypatch.setattr(sandbox, 'PYTHON', '/bin/false')


def test_a_machine_that_gives_no_network_namespaces(
        refused, steps, archive, directory, caplog):
    """The launcher says so at once; no node has another network instead."""
    steps.readLayout(LAYOUT.format(archive=archive))
    said = 'connection "house" has network=none in zuul.conf'
    steps.runUntil(lambda: said in caplog.text)
    request = steps.addRequest('small')
    steps.run()
    assert not isDone(request)
    assert not steps.nodes()
    assert not (directory / 'local').exists()
