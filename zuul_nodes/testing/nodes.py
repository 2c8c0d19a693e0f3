"""Tests of the lifecycle of nodes."""

from collections.abc import Iterable
from concurrent.futures import wait
import contextlib
import json
import time
from typing import Any
import uuid
import zlib

import pytest
from zuul.model import NodesetRequest, ProviderNode
from zuul.provider import BaseProviderEndpoint
from zuul.provider.statemachine import Instance

from zuul_nodes.drivers import Ability, Driver
from zuul_nodes.futures import begin
from zuul_nodes.testing.cloud import (
    Cloud,
    LimitedCloud,
    SilentCloud,
    StoppableCloud,
)
from zuul_nodes.testing.faults import KINDS, Fault
from zuul_nodes.testing.launcher import CLEANUP_INTERVAL
from zuul_nodes.testing.scenarios import MakeSite, Points, Scenarios
from zuul_nodes.testing.site import PATHS, Site

# Regular calls of the launcher.
REGULAR = {'listImages', 'listPowerStates', 'listResources'}
# Calls whose answers the launcher caches.
BEGINNING = {'getLimits', 'getNeeds', 'listZones'}
# Seconds until a call with a time-out of one second has to end.
BOUND = 10


class NodeScenarios(Scenarios):

    def test_life(self, site: Site) -> None:
        """A node is launched, used and deleted."""
        request, (node,) = site.getFulfilled(site.request('label'))
        assert node.interface_ip or node.kubernetes_connection, (
            'the node has no address')
        if not site.given:
            assert site.getNew(), 'there is a node, but nothing in the cloud'
            self._checkTags(site, node)
        site.use(request)
        site.rest()

    def _checkTags(self, site: Site, node: ProviderNode) -> None:
        instances = _findInstances(_getEndpoint(site), node.uuid)
        assert instances, (
            f'no instance in the list has the tag zuul_node_uuid of the '
            f'node, {node.uuid}')
        missing = node.tags.items() - instances[0].metadata.items()
        assert not missing, f'the instance lacks the tags {missing}'

    def test_given(self, site: Site) -> None:
        """An existing machine serves one request at a time, repeatedly."""
        if not site.given:
            pytest.skip('the nodes are not existing machines')
        requests = [site.request('label') for _ in range(self.many)]
        served = [site.getFulfilled(each)[0] for each in requests]
        machines = {node.uuid for node in site.getNodes()}
        assert len(machines) == self.many, (
            f'there should be {self.many} machines: {machines}')
        last = site.request('label')
        for request in served:
            site.use(request)
        request, (node,) = site.getFulfilled(last)
        assert node.uuid in machines, 'another machine has appeared'
        site.use(request)
        site.rest()

    def test_many(self, site: Site) -> None:
        """The cloud is not queried for each of many nodes."""
        begin = time.monotonic()
        requests = [site.request('label') for _ in range(self.many)]
        served = [site.getFulfilled(each)[0] for each in requests]
        names = [node_id for request in served for node_id in request.nodes]
        assert len(set(names)) == self.many
        for request in served:
            site.use(request)
        site.rest()
        if not issubclass(self.driver_class, Driver):
            return
        elapsed = time.monotonic() - begin
        interval = self.driver_class.adapter_class.list_interval
        most = elapsed / interval + 3 * elapsed / CLEANUP_INTERVAL + 5
        number = site.journal.getCalls()['listInstances']
        assert number <= most, (
            f'{number} lists of instances in {elapsed:.1f} seconds')

    def test_record(self, site: Site) -> None:
        """Executors read and write the record without the driver."""
        request, (node,) = site.getFulfilled(site.request('label'))
        assert type(node).__module__.startswith('zuul.'), (
            f'{type(node)} is a class that executors cannot import')
        before = _read(site, node)
        with node.locked(site.context(), blocking=False) as lock, \
                site.context() as context:
            context.lock = lock
            node.refresh(context)
            node.updateAttributes(context, comment='used')
        after = _read(site, node)
        assert before | {'comment': 'used'} == after, (
            'the record loses data when an executor writes it')
        site.use(request)
        site.rest()

    def test_leak(self, site: Site, cloud: Cloud) -> None:
        """An instance whose record is missing is deleted, and no other."""
        if site.given:
            pytest.skip('the nodes are existing machines')
        if hasattr(cloud, 'addForeign'):
            cloud.addForeign()
            site.before = site.list()
        request_id = site.request('label')
        _, (node,) = site.getFulfilled(request_id)
        left = site.getNew()
        for path in (f'{PATHS["request"]}/{request_id}', node.getPath()):
            site.zk_client.client.delete(path, recursive=True)
        site.waitFor(
            lambda: not site.getNew(),
            lambda: f'{site.getNew()} of {left} still exists, although the '
            'record of its node does not')
        site.rest()

    def test_cancel(self, site: Site) -> None:
        """A request is canceled while its node is launched."""
        request_id = site.request('label')
        site.waitFor(site.getNodes, 'there is no node')
        site.cancel(request_id)
        site.waitFor(
            lambda: all(node.state == node.State.READY and not node.request_id
                        for node in site.getNodes()),
            'a node does not become ready although nothing has failed')
        # The next request uses the node.
        site.use(site.getFulfilled(site.request('label'))[0])
        site.rest()

    def test_instance_that_is_stopped(self, site: Site,
                                      cloud: StoppableCloud) -> None:
        """A ready node whose instance has been stopped is not assigned to a
        request."""
        self.needMethod(cloud, 'stopInstances')
        request_id = site.request('label')
        site.waitFor(site.getNodes, 'there is no node')
        site.cancel(request_id)
        node, = site.waitFor(
            lambda: [node for node in site.getNodes()
                     if node.state == node.State.READY],
            'there is no ready node')
        cloud.stopInstances()
        site.waitFor(
            lambda: node.uuid not in site.getRecords('node'),
            'a node still exists although its instance is stopped')
        site.use(site.getFulfilled(site.request('label'))[0])
        site.rest()

    def test_cancel_of_what_comes_late(self, site: Site) -> None:
        """A cloud creates an instance after the request was canceled."""
        if site.given:
            pytest.skip('the nodes are existing machines')
        first = next(call for call in self._getPoints(site)[0]
                     if call.startswith('create'))
        site.journal.begin(Fault(first, 'late'))
        request_id = site.request('label')
        site.waitFor(site.journal.isBegun, f'there was no {first}')
        site.cancel(request_id)
        site.waitFault()
        site.use(site.getFulfilled(site.request('label'))[0])
        site.rest()

    def test_stop(self, site: Site) -> None:
        """The launcher ends when it is told to, and the next one continues.
        """
        request, _ = site.getFulfilled(site.request('label'))
        status = site.stop()
        assert status == 0, f'the launcher ends with the status {status}'
        site.restart()
        site.use(request)
        site.rest()

    @pytest.mark.parametrize('kind', KINDS)
    def test_faults(self, site: Site, kind: str) -> None:
        """Each call for a node fails once; nevertheless the node becomes ready
        and is deleted."""
        creating, removing, number = self._getPoints(site)
        for call in creating:
            site.journal.begin(Fault(call, kind))
            request = self._make(site, number)
            site.journal.begin()
            self._remove(site, request)
        for call in removing:
            site.journal.begin()
            request = self._make(site, number)
            site.journal.begin(Fault(call, kind))
            self._remove(site, request)

    @pytest.mark.parametrize(
        'kind', ['error', 'hang', 'kill-before', 'kill-after'])
    def test_faults_at_the_beginning(self, makeSite: MakeSite,
                                     kind: str) -> None:
        """Each call fails that a launcher makes only for its first node."""
        site = makeSite()
        site.start()
        request, _ = site.getFulfilled(site.request('label'))
        calls = site.journal.getCalls().keys() - REGULAR
        self._remove(site, request)
        again, _, number = self._getPoints(site)
        calls -= set(again)
        if not calls:
            pytest.skip('there are no such calls')
        site.end()
        for call in sorted(calls):
            site = makeSite()
            site.journal.begin(Fault(call, kind))
            site.start()
            self._remove(site, self._make(site, number))
            site.end()

    def _getPoints(self, site: Site) -> Points:
        """
        :return: the calls that launch a node and those that delete it, two
            lists; and the number of resources in the cloud in between.
        """
        site.journal.begin()
        request, _ = site.getFulfilled(site.request('label'))
        number = len(site.getNew())
        creating = site.journal.getCalls()
        site.journal.begin()
        self._remove(site, request)
        removing = site.journal.getCalls()
        # Cached calls may not happen the next time.
        return (_findPoints(creating), _findPoints(removing), number)

    def _make(self, site: Site, number: int) -> NodesetRequest:
        """:return: the request of a node, fulfilled."""
        request, _ = site.getFulfilled(site.request('label'))
        site.waitFault()
        _, fault = site.journal.readPlan()
        # Other drivers do not search for instances of a launcher that has
        # died, but delete them together with the node.
        if not (fault and fault.kills) or issubclass(
                self.driver_class, Driver):
            # The instance of a failed attempt has been deleted.
            site.waitForNumber(number)
        return request

    def _remove(self, site: Site, request: NodesetRequest) -> None:
        site.use(request)
        site.rest()
        site.waitFault()
        # Late instances have been deleted.
        site.rest()

    # Abilities

    def test_unanswered_calls(self, makeSite: MakeSite,
                              cloud: SilentCloud) -> None:
        """Every call has a time-out."""
        self.needMethod(cloud, 'setSilent')
        site = makeSite()
        site.start()
        endpoint = _getEndpoint(site)
        cloud.setSilent()
        # Some drivers of Zuul call the cloud during the iteration.
        call = begin('list', lambda: list(endpoint.listInstances()))
        assert wait([call], BOUND).done and call.exception(), (
            f'a list of instances has not ended in {BOUND} seconds, or has '
            'not failed, with a cloud that does not answer')

    def test_answers_from_memory(self, makeSite: MakeSite,
                                 cloud: SilentCloud) -> None:
        """Methods that others wait for do not call the cloud."""
        self.needMethod(cloud, 'setSilent')
        site = makeSite()
        site.provider, = site.makeProviders()
        _getEndpoint(site)
        cloud.setSilent()

        def ask() -> None:
            provider, = site.makeProviders()
            label = provider.labels['label']
            provider.getNodeTags(site.system_id, label, 'node')
            provider.getEndpointLimits()
            # Raised while the answer is unknown.
            with contextlib.suppress(KeyError):
                provider.getQuotaForLabel(label)
        call = begin('ask', ask)
        assert wait([call], BOUND).done and not call.exception(), (
            'getProvider, getNodeTags, getEndpointLimits or getQuotaForLabel '
            'calls the cloud, or fails without it')

    def test_unique_names(self, site: Site) -> None:
        """An instance that is created again is the one that exists."""
        self.need(Ability.UNIQUE_NAMES)
        # It would delete instances that have no node.
        site.launcher.kill()
        endpoint = _getEndpoint(site)
        adapter = endpoint.adapter
        label = site.provider.labels['label']
        node_id = uuid.uuid4().hex
        zone = next(iter(adapter.listZones()), None)
        spec = site.provider.makeSpec(
            label, name=f'np{node_id}', zone=zone,
            tags=site.provider.getNodeTags(site.system_id, label, node_id))
        first = adapter.createInstance(spec)
        again = adapter.createInstance(spec)
        assert again.id == first.id, (
            f'createInstance has returned {first.id}, and {again.id} when it '
            'was called again with the same name')

        def findReady() -> list[Instance] | None:
            found = _findInstances(endpoint, node_id)
            return found if any(each.ready for each in found) else None
        found = site.waitFor(
            findReady, f'the instance {first.id} does not become ready')
        assert len(found) == 1, (
            'createInstance has created several instances of the same name: '
            f'{[each.external_id for each in found]}')
        site.launcher.start()
        site.rest()

    def test_zones(self, site: Site) -> None:
        """All nodes of a request are in one zone."""
        self.need(Ability.ZONES)
        request, nodes = site.getFulfilled(site.request(*['label'] * 3))
        zones = {node.az for node in nodes}
        assert None not in zones, 'nodes have no zone (az)'
        assert len(zones) == 1, f'the nodes of a request are in {zones}'
        known = list(_getEndpoint(site).adapter.listZones())
        assert zones <= set(known), f'{zones} is not in {known}'
        site.use(request)
        site.rest()

    def test_limits(self, makeSite: MakeSite, cloud: LimitedCloud) -> None:
        """A request that exceeds the limit waits until there is capacity."""
        self.need(Ability.LIMITS)
        self.needMethod(cloud, 'setLimit')
        cloud.setLimit(1)
        site = makeSite()
        site.start()
        first, _ = site.getFulfilled(site.request('label'))
        second = site.request('label')
        site.journal.begin()
        # The launcher has seen whether there are nodes of others.
        site.waitFor(lambda: site.journal.getCalls()['listInstances'] > 2,
                     'the launcher does not list the instances')
        assert len(site.getRecords('node')) == 1, (
            'there is a node for which the cloud has no capacity')
        site.use(first)
        site.use(site.getFulfilled(second)[0])
        site.rest()

    def test_needs(self, site: Site) -> None:
        """The needs of a node are known."""
        self.need(Ability.NEEDS)
        request, (node,) = site.getFulfilled(site.request('label'))
        assert node.quota.getResources().get('instances') == 1, (
            f'a node needs {node.quota.getResources()} instead of one '
            'instance')
        site.use(request)
        site.rest()

    def test_console(self, site: Site) -> None:
        """The console output of a node can be read."""
        self.need(Ability.CONSOLE)
        request, (node,) = site.getFulfilled(site.request('label'))
        _getEndpoint(site)
        log = site.provider.getConsoleLog(
            site.provider.labels['label'], node)
        assert log is None or isinstance(log, str)
        site.use(request)
        site.rest()


def _findPoints(calls: Iterable[str]) -> list[str]:
    return [call for call in calls if call not in BEGINNING | REGULAR]


def _getEndpoint(site: Site) -> BaseProviderEndpoint:
    """:return: the endpoint of the kit's own process."""
    endpoint = site.provider.getEndpoint()
    endpoint.start()
    return endpoint


def _findInstances(endpoint: BaseProviderEndpoint,
                   node_id: str) -> list[Instance]:
    """:return: the instances in the list of a cloud that are of a node."""
    return [instance for instance in endpoint.listInstances()
            if (instance.metadata or {}).get('zuul_node_uuid') == node_id]


def _read(site: Site, node: ProviderNode) -> dict[str, Any]:
    """:return: the data of the record."""
    data, _ = site.zk_client.client.get(node.getPath())
    return json.loads(zlib.decompress(data.partition(b'\0')[2]))
