"""Whatever happens, in whatever order."""

import collections
import copy
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from zuul.model import ProviderNode

from tests.fixtures.examples import countExamples
from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    makeNode,
    makeRequest,
)
from zuul_nodes.launcher.planner.planner import (
    Grant,
    Impossible,
    Wait,
)
from zuul_nodes.launcher.planner.requestqueue import getRank
from zuul_nodes.launcher.planner.selection import getNeeds

State = ProviderNode.State
LABELS = ('big', 'small', 'desk', 'chair')
limit = st.sampled_from((3, 2, 4, 6, 1, 0))


class Planning(RuleBasedStateMachine):
    """Requests come, are served as soon as they are woken or later, and
    end; nodes come and go."""

    @initialize(limits=st.lists(limit, min_size=5, max_size=5),
                max_nodes=st.none() | st.integers(1, 4),
                tenant_limit=st.none() | st.integers(1, 4),
                nodes=st.lists(st.sampled_from(
                    [['desk'], ['chair'], ['desk', 'chair'],
                     ['chair', 'desk']]), max_size=4),
                seed=st.integers(0, 9))
    def begin(self, limits, max_nodes, tenant_limit, nodes, seed):
        def labels():
            return (Label('big', {'instances': 1, 'cores': 3},
                          zones=['x', 'y']),
                    Label('small', {'instances': 1, 'cores': 1},
                          max_nodes=max_nodes, zones=['y', 'z']))
        region = Endpoint('region', {'cores': 3 * limits[0]})
        section = {'name': 'site/rack', 'limits': {'instances': limits[1]}}
        self.a = Provider('a', *labels(), endpoint=region, section=section,
                          limits={'instances': limits[2]})
        self.b = Provider('b', *labels(), endpoint=region,
                          limits={'cores': limits[3]})
        self.c = Provider('c', *labels(), section=section,
                          limits={'cores': limits[4]})
        self.max_nodes = max_nodes
        # The same machines, of two tenants.
        self.desks = StaticProvider('desks', *nodes)
        self.theirs = StaticProvider('theirs', *nodes, tenant='other')
        self.world = World(
            shuffle=random.Random(seed).shuffle, isGiven='desk'.__eq__,
            getTenantLimits=lambda name: {
                'instances': tenant_limit} if tenant_limit else {})
        self.tenant_limit = tenant_limit
        self.planner = self.world.planner
        for provider in (self.desks, self.theirs):
            provider.connection_name = 'desk'
            for number, entry in enumerate(provider.nodes.values()):
                self.world.addNode(
                    provider, entry.label, uuid=entry.node_id,
                    label_aliases=list(entry.aliases),
                    interface_ip=f'desk{number}')
        self.world.setProviders(
            self.a, self.b, self.c, self.desks, self.theirs)
        self.running = {}
        self.waiting = {}
        self.unwritten = {}
        # Granted, but not written; to be planned again.
        self.postponed = {}
        self.prepared = {}

    # What happens

    @rule(labels=st.lists(st.sampled_from(LABELS), min_size=1, max_size=4),
          priority=st.integers(0, 1), number=st.integers(1, 5),
          temporary=st.lists(st.sampled_from('abc'), max_size=1),
          tenant=st.sampled_from(('tenant', 'tenant', 'other')))
    def request(self, labels, priority, number, temporary, tenant):
        for _ in range(number):
            request = makeRequest(
                *labels, tenant=tenant, priority=priority,
                provider_node_data=[{
                    'temporary': dict.fromkeys(temporary, 'busy')}]
                * len(labels))
            self.world.requests[request.uuid] = request
            self.plan(request)

    def plan(self, request):
        decision = self.planner.plan(request)
        assert self.waiting.pop(request.uuid, request) is request
        if isinstance(decision, Grant):
            self.unwritten[request.uuid] = decision
            if not any(slot.node for slot in decision.slots):
                providers = {slot.provider for slot in decision.slots}
                zones = {slot.zone for slot in decision.slots}
                assert len(providers) > 1 or len(zones) == 1
            # Of those who need the same, nobody is overtaken; the more
            # urgent may have come when this was granted already.
            assert not any(
                getRank(other) < getRank(request)
                and other.priority == request.priority
                and getNeeds(other) == getNeeds(request)
                and other.uuid not in self.world.woken
                for other in self.waiting.values())
        elif isinstance(decision, Wait):
            assert decision.reason
            self.waiting[request.uuid] = request
        else:
            assert isinstance(decision, Impossible) and decision.reason

    @rule(index=st.integers(0, 9))
    def serve(self, index):
        if self.world.woken:
            self.plan(self.world.requests[self.world.woken.pop(
                index % len(self.world.woken))])

    @rule(index=st.integers(0, 9))
    def planAgain(self, index):
        if request := self.choose(self.waiting, index):
            woken = self.world.woken
            woken[:] = [each for each in woken if each != request.uuid]
            self.plan(request)

    @rule(index=st.integers(0, 9), change=st.integers(-2, 2))
    def revise(self, index, change):
        # What has been granted to others by then stays theirs.
        if not self.world.woken and (
                request := self.choose(self.waiting, index)):
            request._set(_relative_priority=change)
            self.plan(request)

    @rule(names=st.none() | st.sets(st.sampled_from(('a', 'b', 'desks'))))
    def limitsChanged(self, names):
        self.planner.limitsChanged(names)

    @rule(more=st.integers(0, 1))
    def endpointGrows(self, more):
        self.a.endpoint.limits['cores'] += more
        self.planner.limitsChanged({'a', 'b'})

    @rule(tenants=st.sets(st.sampled_from(('tenant', 'other'))),
          more=st.integers(0, 1))
    def readLayout(self, tenants, more):
        for name in ('a', 'b', 'c', 'desks', 'theirs'):
            provider = copy.copy(getattr(self, name))
            if provider.tenant_name in tenants:
                provider.resource_limits = {
                    key: limit + more for key, limit
                    in provider.resource_limits.items()}
                setattr(self, name, provider)
        self.world.setProviders(
            self.a, self.b, self.c, self.desks, self.theirs)

    @rule()
    def writeAll(self):
        while self.unwritten:
            self.write(0)

    @rule(index=st.integers(0, 9))
    def write(self, index):
        if grant := self.choose(self.unwritten, index):
            self.world.write(self.unwritten.pop(grant.request_id))
            self.running[grant.request_id] = self.world.requests[
                grant.request_id]

    @rule(index=st.integers(0, 9))
    def fail(self, index):
        if grant := self.choose(self.unwritten, index):
            self.planner.postpone(grant)
            self.postponed[grant.request_id] = self.unwritten.pop(
                grant.request_id)

    @rule(index=st.integers(0, 9))
    def planPostponed(self, index):
        if grant := self.choose(self.postponed, index):
            del self.postponed[grant.request_id]
            self.plan(self.world.requests[grant.request_id])

    @rule(index=st.integers(0, 9))
    def forgetGranted(self, index):
        if grant := self.choose(self.unwritten | self.postponed, index):
            self.planner.forget(grant.request_id)
            for granted in self.unwritten, self.postponed:
                granted.pop(grant.request_id, None)

    @rule(index=st.integers(0, 9))
    def finish(self, index):
        if request := self.choose(self.running, index):
            self.world.finish(self.running.pop(request.uuid))

    @rule(index=st.integers(0, 9))
    def forget(self, index):
        if request := self.choose(self.waiting, index):
            del self.waiting[request.uuid]
            woken = self.world.woken
            woken[:] = [each for each in woken if each != request.uuid]
            self.planner.forget(request.uuid)

    @rule(label=st.sampled_from(('big', 'small')))
    def makeReady(self, label):
        """As for ``min-ready``, where there is room."""
        for provider in (self.a, self.b, self.c):
            if self.planner.getObstacle(provider, label) is None:
                node = makeNode(provider, label, State.BUILDING)
                assert self.planner.prepare([node])
                self.prepared[node.uuid] = node

    @rule(index=st.integers(0, 9))
    def writePrepared(self, index):
        if node := self.choose(self.prepared, index):
            self.world.nodes[node.uuid] = self.prepared.pop(node.uuid)
            self.planner.updateNode(node)
            self.planner.forget(node.uuid)

    @rule(index=st.integers(0, 9))
    def getReady(self, index):
        if node := self.choose({
                node_id: node for node_id, node in self.world.nodes.items()
                if node.state == State.BUILDING}, index):
            node._set(state=State.READY)
            self.planner.updateNode(node)

    @rule(label=st.sampled_from(('big', 'small')), name=st.sampled_from('abc'))
    def addPending(self, label, name):
        """As Zuul's launcher does, whether or not there is room."""
        self.world.addNode(getattr(self, name), label, State.REQUESTED)

    @rule(index=st.integers(0, 9))
    def beginPending(self, index):
        node = self.choose(self.getPending(), index)
        if node and self.planner.prepare([node]):
            node._set(state=State.BUILDING)
            self.planner.updateNode(node)
            self.planner.forget(node.uuid)

    def getPending(self):
        return {node_id: node for node_id, node in self.world.nodes.items()
                if node.state == State.REQUESTED}

    def getGrants(self):
        return [*self.unwritten.values(), *self.postponed.values()]

    @rule(name=st.sampled_from('abc'))
    def pause(self, name):
        self.planner.pause(
            self.world.getSubject(name), float('inf'), 'of a test')

    @rule(name=st.sampled_from('abc'))
    def resume(self, name):
        self.planner.resume(self.world.getSubject(name))

    @staticmethod
    def choose(records, index):
        return records and list(records.values())[index % len(records)]

    # What is always so

    @invariant()
    def no_limit_is_exceeded(self):
        used = collections.Counter()
        for node in [*self.world.nodes.values(), *self.prepared.values()]:
            if node.state == State.REQUESTED:
                continue
            for resource, amount in node.quota.quota.items():
                used[node.provider, resource] += amount
            if node.label == 'small':
                used['small'] += 1
        for grant in self.getGrants():
            for slot in grant.slots:
                if slot.node is None:
                    need = slot.provider.labels[slot.label_name].need
                    for resource, amount in need.items():
                        used[slot.provider.name, resource] += amount
                    used['small'] += slot.label_name == 'small'
        for provider in (self.a, self.b, self.c):
            for resource, amount in provider.resource_limits.items():
                assert used[provider.name, resource] <= amount
        region, section = self.a.endpoint, self.a.labels['big'].zuul_nodes
        assert used['a', 'cores'] + used['b', 'cores'] <= (
            region.limits['cores'])
        assert used['a', 'instances'] + used['c', 'instances'] <= (
            section['section']['limits']['instances'])
        assert self.max_nodes is None or used['small'] <= self.max_nodes

    @invariant()
    def no_tenant_has_more_than_it_may(self):
        used = collections.Counter(
            node.tenant_name for node in self.world.nodes.values()
            if node.tenant_name)
        used.update(
            slot.provider.tenant_name for grant in self.getGrants()
            for slot in grant.slots)
        if self.tenant_limit:
            assert max(used.values(), default=0) <= self.tenant_limit

    @invariant()
    def no_node_is_granted_twice(self):
        granted = [slot.node_id for grant in self.getGrants()
                   for slot in grant.slots]
        granted += [node.uuid for node in self.world.nodes.values()
                    if node.request_id]
        assert len(granted) == len(set(granted))

    @invariant()
    def no_machine_is_used_twice(self):
        used = [slot.node.interface_ip for grant in self.getGrants()
                for slot in grant.slots
                if slot.node and slot.node.connection_name == 'desk']
        used += [node.interface_ip for node in self.world.nodes.values()
                 if node.request_id and node.connection_name == 'desk']
        assert len(used) == len(set(used))

    @invariant()
    def nobody_waits_who_could_be_served(self):
        """All who can are woken; the others are told the same again."""
        for request_id, request in sorted(
                self.waiting.items(), key=lambda item: getRank(item[1])):
            if request_id not in self.world.woken:
                assert isinstance(self.planner.plan(request), Wait)
        assert len(self.planner.waiting.requests) + len(
            self.world.woken) == len(self.waiting)

    def teardown(self):
        """Everybody is served in the end."""
        for name in 'abc':
            self.planner.resume(self.world.getSubject(name))
        rounds = 2 * (len(self.waiting) + len(self.running)
                      + len(self.getGrants())) + 9
        for _ in range(rounds):
            while self.prepared:
                self.writePrepared(0)
            while self.world.woken:
                self.serve(0)
            while self.postponed:
                self.planPostponed(0)
            while self.unwritten:
                self.write(0)
            # Nobody has asked for these, so they are of no account.
            for node in list(self.world.nodes.values()):
                if not (node.request_id or node.state == State.REQUESTED
                        or node.uuid in self.planner.capacity.claims) and (
                            node.label in ('big', 'small')):
                    self.world.removeNode(node)
            if self.running:
                self.finish(0)
        assert not (self.waiting or self.running or self.world.woken)
        capacity = self.planner.capacity
        assert not (capacity.claims or capacity.reservations.by_request)
        assert not any(amount for (account, _), amount in capacity.used.items()
                       if account.name not in ('desks', 'theirs')
                       and account.kind != 'label')


Planning.TestCase.settings = settings(
    max_examples=countExamples(1000), stateful_step_count=40, deadline=None,
    suppress_health_check=list(HealthCheck))
TestPlanning = Planning.TestCase


@settings(max_examples=countExamples(500), deadline=None)
@given(providers=st.integers(1, 4), size=st.integers(3, 8),
       need=st.integers(2, 8), missing=st.none() | st.integers(0, 8),
       chance=st.randoms(use_true_random=False))
def test_nobody_is_overtaken_for_ever(providers, size, need, missing, chance):
    """When all that run have ended, a large request has its nodes, however
    many small ones there are, whatever is looked at anew, and though a
    request ahead waits for something else.  The providers may share an
    endpoint that has less than their limits together."""
    names = [f'p{number}' for number in range(providers)]
    endpoint = None if missing is None else Endpoint('region', {
        'instances': max(size, size * providers - missing)})
    world = World(*(
        Provider(name, 'small', Label('rare', max_nodes=1),
                 limits={'instances': size}, endpoint=endpoint)
        for name in names), shuffle=chance.shuffle)
    world.request('rare', age=999)
    running = [world.request('small', _relative_priority=2)[0]
               for _ in range(size * providers - 1)]
    world.request('rare', age=999)
    large, _ = world.request(*['small'] * min(need, size - 2))
    for done in running:
        world.request('small', _relative_priority=2)
        world.planner.limitsChanged({chance.choice(names)})
        large._set(_relative_priority=chance.randint(0, 1))
        if large.uuid not in world.woken:
            world.plan(large)
        world.finish(done)
        if large.uuid in [grant.request_id for grant in world.serve()]:
            return
    assert world.getNodes(large)


@settings(max_examples=countExamples(2000), deadline=None)
@given(shares=st.lists(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    min_size=2, max_size=3), chance=st.randoms(use_true_random=False))
def test_what_only_just_fits_is_found(shares, chance):
    """Providers have together just what is needed."""
    needs = [need for share in shares for need in share]
    chance.shuffle(needs)
    world = World(*(
        Provider(f'p{number}', *(
            Label(str(need), {'cores': need}) for need in set(needs)),
            limits={'cores': sum(share)})
        for number, share in enumerate(shares)))
    assert isinstance(world.request(*map(str, needs))[1], Grant)
    assert isinstance(world.request(*map(str, needs), '1')[1], Impossible)
