"""zuul-web with two tenants that share providers, and their records."""

import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import NodesetRequest, QuotaInformation
from zuul.zk.zkobject import ZKContext

from tests.fixtures.waiting import waitFor
from tests.unit.launcher.conftest import image_launcher
from tests.unit.plugin.conftest import loadTenant, makeWeb, seams, web
from zuul_nodes import providerstatus, tenantlimits, waits, zkrecords
from zuul_nodes.web import imageviews, providerviews, requestviews

__all__ = ['image_launcher', 'loadTenant', 'makeWeb', 'seams', 'web']
PROJECT = 'example.com%2Fnodes'


def setLifetime(monkeypatch, seconds):
    for module in (imageviews, providerviews, requestviews):
        monkeypatch.setattr(module, 'LIFETIME', seconds)


@pytest.fixture
def eager(monkeypatch):
    """zuul-web reads anew for each request."""
    setLifetime(monkeypatch, 0)


@pytest.fixture
def patient(monkeypatch):
    """zuul-web reads once in a test, however long that takes."""
    setLifetime(monkeypatch, 3600)


@pytest.fixture
def site(web, zk_client):
    return Site(web.service, zk_client)


class Site:
    """What schedulers and launchers have written."""

    def __init__(self, service, zk_client):
        self.service = service
        self.client = zk_client.client
        self.context = ZKContext(zk_client, None, None, logging.getLogger())

    def addRequests(self, *several):
        """
        :param several: attributes of requests, a dict for each.
        :return: the requests, which zuul-web knows.
        """
        requests = [NodesetRequest.new(self.context, **{
            'tenant_name': 'tenant', 'pipeline_name': 'check',
            'job_name': 'build', 'labels': ['debian']} | each)
            for each in several]
        self._waitFor(self.service.requests_cache, requests)
        return requests

    def addNodes(self, number, provider='rack', state='in-use',
                 label='debian', tenant=None, **quota):
        nodes = [StaticProviderNode.new(
            self.context, label=label, state=state, connection_name='rack',
            endpoint_name='cloud', provider=f'{PROJECT}/{provider}',
            quota=QuotaInformation(**quota)) for _ in range(number)]
        self._waitFor(self.service.nodes_cache, nodes)
        for node in nodes if tenant else ():
            node.assign(self.context, 'f' * 32, tenant)
            waitFor(lambda uuid=node.uuid: self.service.nodes_cache.getItem(
                uuid).tenant_name)

    def explain(self, reason, *requests, tenant='tenant'):
        zkrecords.write(self.client, waits.getPath(tenant), waits.makeRecord([
            (reason, [each.uuid for each in requests])]))

    def describe(self, name='rack', limits=(), pauses=(), problem=None):
        """Write what the planner knows about a provider."""
        zkrecords.write(
            self.client,
            zkrecords.getPath(providerstatus.ROOT, f'{PROJECT}/{name}'),
            providerstatus.makeRecord(providerstatus.Status(
                'cloud', 'section', limits, pauses, problem)))

    def limitTenant(self, name, **limits):
        """Write the limits that the launcher reads in zuul.conf."""
        zkrecords.write(
            self.client, zkrecords.getPath(tenantlimits.ROOT, name),
            tenantlimits.makeRecord(limits))

    def _waitFor(self, cache, records):
        waitFor(lambda: all(cache.getItem(each.uuid) for each in records))


@pytest.fixture
def reads(web, monkeypatch):
    """:return: a list of the paths in ZooKeeper of zuul-nodes that handlers
        have read so far."""
    paths = []
    client = web.service.zk_client.client

    def note(read):
        def noteRead(path, *args, **kwargs):
            if path.startswith('/zuul/zuul-nodes/'):
                paths.append(path)
            return read(path, *args, **kwargs)
        return noteRead
    for name in ('get', 'get_children'):
        monkeypatch.setattr(client, name, note(getattr(client, name)))
    return paths
