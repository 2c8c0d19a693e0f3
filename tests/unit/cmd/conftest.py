"""What the tests of several commands need."""

import logging
import pathlib

import pytest
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.layout import LayoutProvidersStore
from zuul.zk.zkobject import ZKContext

from tests.emulators.openstack import OpenStack
from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.programs import writeConf
from tests.unit.drivers.openstack.nodesites import furnish
from zuul_nodes import orders, tenantlimits, zkrecords
from zuul_nodes.orders import Order

DOCUMENTATION = pathlib.Path(__file__).parents[3] / 'doc/source'


@pytest.fixture
def runCommand(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs a subcommand that reads ZooKeeper, without
        errors, and returns what it prints."""
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')

    def run(name, *arguments):
        result = zuulNodes(name, '-c', path, *arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout
    return run


@pytest.fixture
def openstack():
    cloud = OpenStack()
    furnish(cloud)
    yield cloud
    cloud.end()


@pytest.fixture
def offer(zk_client, zuul_conf):
    """:return: a function that writes the providers of a tenant as a scheduler
        does."""
    COMPONENT_REGISTRY.create(zk_client)
    connections = makeRegistry(zuul_conf)
    context = ZKContext(zk_client, None, None, logging.getLogger())
    store = LayoutProvidersStore(zk_client, connections, 'system')
    yield lambda text, tenant='tenant': store.set(
        context, tenant, makeProviders(
            connections, text, tenant, zk_client=zk_client))
    connections.stop()


@pytest.fixture
def limitTenant(zk_client):
    """:return: a function that records the limits of a tenant."""
    return lambda name, **limits: zkrecords.write(
        zk_client.client, zkrecords.getPath(tenantlimits.ROOT, name),
        tenantlimits.makeRecord(limits))


def getRows(text):
    """:return: the cells of a table, in which lines may be wrapped, without
        its head."""
    rows, cells = [], []
    for line in text.splitlines():
        if line.startswith('|'):
            cells.append([cell.strip() for cell in line.split('|')[1:-1]])
        elif cells:
            rows.append([' '.join(filter(None, column))
                         for column in zip(*cells, strict=True)])
            cells = []
    return rows[1:]


def getShown(page, command):
    """:return: the lines that a page of the documentation shows as the output
        of a command."""
    _, _, shown = (DOCUMENTATION / page).read_text().partition(
        f'    $ {command}\n')
    lines, _, _ = shown.partition('\n\n')
    return [line.removeprefix('    ') for line in lines.splitlines()]


def readNotes(client):
    """:return: a list of what the audit log is going to have of commands."""
    path = f'{orders.ROOT}/{Order.NOTE}'
    return [orders.getFields(orders.parse(zkrecords.read(
        client, f'{path}/{name}')))
        for name in zkrecords.getChildren(client, path)]
