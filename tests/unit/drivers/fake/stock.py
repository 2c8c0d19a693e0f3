"""Zuul's own launcher with the driver that is an adapter."""

import uuid

from zuul.launcher.server import Launcher
from zuul.zk.layout import LayoutState

from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.fake.layout import LAYOUT


def configure(config, tmp_path):
    """Write into zuul.conf what a launcher needs."""
    config.read_dict({
        'launcher': {'temp_dir': tmp_path,
                     'command_socket': tmp_path / 'socket'},
        'connection fake': {'driver': 'fake', 'path': str(tmp_path / 'cloud'),
                            'create_delay': '0.2'}})


def start(config):
    """:return: Zuul's own launcher, with a tenant; and its providers."""
    launcher = Launcher(config, makeRegistry(config))
    launcher.start()
    providers = makeProviders(
        launcher.connections, LAYOUT, zk_client=launcher.zk_client)
    with launcher.createZKContext(None, launcher.log) as context:
        launcher.layout_providers_store.set(context, 'tenant', providers)
        launcher.tenant_layout_state['tenant'] = LayoutState(
            'tenant', 'scheduler', 0, uuid.uuid4().hex, {}, 1)
    return launcher, providers


def waitUntilServed(launcher, request):
    """:return: a list of all nodes, of any launcher."""
    waitFor(lambda: (found := launcher.api.getNodesetRequest(
        request.uuid)) and found.state == found.State.FULFILLED)
    return list(launcher.api.getProviderNodes())
