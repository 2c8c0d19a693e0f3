"""What has to be true of every history."""

import collections
import itertools

from tests.chaos import site
from tests.chaos.records import NodeState, State

LONGEST = 's at most with two instances of a node'


class Invariants:
    """
    :param Records records: by the history of ZooKeeper.
    :param list cloud: the history of the cloud.
    :param unread: ids of requests that a planner has met before it had read
        the layout of their tenant.
    :param unprepared: pairs of ids of requests; the second one was granted
        while the first one waited for providers of its tenant to be prepared.
    :ivar figures: how often there was something to look at.
    """

    def __init__(self, records, cloud, unread=(), unprepared=()):
        self.records = records
        self.unread = unread
        self.unprepared = unprepared
        self.figures = collections.Counter({
            'duplicates': 0, 'overtaken requests': 0,
            'requests before their layouts': len(unread)})
        self.cloud = cloud
        self.instances = {}
        for event in cloud:
            if event['what'] == 'created':
                self.instances[event['id']] = {
                    **event, 'end': float('inf'), 'deletion': None}
            else:
                self.instances[event['id']].update(
                    end=event['gone'], deletion=event)
        self.of_nodes = collections.defaultdict(list)
        for instance in self.instances.values():
            self.of_nodes[instance['node']].append(instance)

    def check(self):
        """:return: a list of what is wrong."""
        return [problem for check in (
            self._checkOwners, self._checkUse, self._checkDuplicates,
            self._checkLimits, self._checkCalls, self._checkPlanners,
            self._checkOrder)
                for problem in check()]

    def _checkOwners(self):
        """No node is given to two requests."""
        owners = collections.defaultdict(list)
        for request in self.records.requests.values():
            for node_ids, begin, end in request.node_ids.spans():
                for node_id in node_ids:
                    owners[node_id].append((
                        begin.zxid, end.zxid if end else float('inf'),
                        request.id))
        for node_id, spans in owners.items():
            for first, second in itertools.pairwise(sorted(spans)):
                if second[0] < first[1] and first[2] != second[2]:
                    yield (f'node {node_id} is given to request {second[2]} '
                           f'at {second[0]:#x}, while request {first[2]} has '
                           'it')
            used = self._getUse(node_id)
            for begin, _, request_id in spans:
                if used and begin > used[0].zxid:
                    yield (f'node {node_id} is given to request {request_id} '
                           f'at {begin:#x}, after it was used')

    def _getUse(self, node_id):
        """:return: the transactions that begin and end the use of a node,
            or None.  It ends when the executor sets another state, or when
            its lock is gone."""
        node = self.records.nodes.get(node_id)
        for state, begin, end in node.states.spans() if node else ():
            if state == NodeState.IN_USE:
                unlocked = next((
                    each for owner, each, _ in node.owners.spans()
                    if each.zxid > begin.zxid and owner != begin.session),
                    None)
                return begin, min(filter(None, (end, unlocked)), default=None,
                                  key=lambda each: each.zxid)
        return None

    def _checkUse(self):
        """No node is deleted while it is in use."""
        for node_id, several in self.of_nodes.items():
            use = self._getUse(node_id)
            if not use:
                continue
            begin, end = use
            # What is left if an instance was created twice is the node's.
            last = max(several, key=lambda each: each['end'])
            if last['deletion'] and begin.time < last['deletion']['time'] and (
                    end is None or last['deletion']['time'] < end.time):
                yield (f'node {node_id} is deleted in use, by session '
                       f'{last["deletion"]["session"]:#x} at '
                       f'{last["deletion"]["time"]}')

    def _checkDuplicates(self):
        """No node has two instances for long."""
        for node_id, several in self.of_nodes.items():
            self.figures['duplicates'] += len(several) - 1
            for one, another in itertools.combinations(several, 2):
                seconds = (min(one['end'], another['end'])
                           - max(one['time'], another['time']))
                self.figures[LONGEST] = max(self.figures[LONGEST], seconds)
                if seconds > site.DUPLICATE:
                    yield (f'node {node_id} has two instances for '
                           f'{seconds:.0f} s: {one["id"]}, {another["id"]}')

    def _checkLimits(self):
        """No more is in use than there may be.

        What a launcher creates after the end of its session is no launcher's
        choice: the process was suspended in the call.
        """
        changes = collections.defaultdict(list)
        for key, each in self.instances.items():
            ended = self.records.ends.get(each['session'])
            if ended and ended.time < each['begun']:
                continue
            node = self.records.nodes.get(each['node'])
            for resource, amount in each['needs'].items():
                for provider in {None, node and node.provider}:
                    changes[each['region'], provider, resource] += [
                        (each['time'], amount, key),
                        (each['end'], -amount, key)]
        for key, limit in site.getLimits().items():
            used = 0
            for time, amount, instance_id in sorted(changes[key]):
                used += amount
                if used > limit and amount > 0:
                    region, provider, resource = key
                    yield (f'{used} {resource} are used in {region} '
                           f'({provider or "all"}) by instance {instance_id} '
                           f'at {time}; the limit is {limit}')

    def _checkCalls(self):
        """A launcher creates and deletes only instances of nodes that it has
        locked, or that have no record; and deletes second instances."""
        for call in self.cloud:
            node, time = self.records.nodes.get(call['node']), call['begun']
            if node is None or node.states.at(time) is None:
                continue
            owner = node.owners.at(time)
            if owner == call['session'] or self._isSecond(call):
                continue
            ended = self.records.ends.get(call['session'])
            yield (f'{call["id"]} of node {node.id} is {call["what"]} at '
                   f'{time} by session {call["session"]:#x}, which has not '
                   f'locked the node; session {owner or 0:#x} has.  The first '
                   f'one ended at {ended.time if ended else None}')

    def _isSecond(self, call):
        """:return: whether an instance is deleted whose node keeps another.
        """
        return call['what'] == 'deleted' and any(
            each['time'] < call['time'] and call['gone'] < each['end']
            for each in self.of_nodes[call['node']]
            if each['id'] != call['id'])

    def _checkPlanners(self):
        """Only the launcher that leads grants requests.

        It may have lost its session before ZooKeeper has ended that: until
        then its candidate is there, and no other launcher leads.
        """
        getLauncher = self.records.launchers.get
        for grant in self.records.grants:
            transaction = grant.transaction
            if transaction.session != grant.session and not (
                    getLauncher(transaction.session)
                    == getLauncher(grant.session) is not None):
                yield (f'request {grant.request.id} is granted at '
                       f'{transaction.zxid:#x} by session '
                       f'{transaction.session:#x}, while the planner is '
                       f'{grant.planner} of session {grant.session or 0:#x}')
            elif not any(each.kind == 'check' and each.path == grant.planner
                         for each in transaction.operations):
                yield (f'request {grant.request.id} is granted at '
                       f'{transaction.zxid:#x} by a transaction that does '
                       'not require that the launcher still plans')

    def _checkOrder(self):
        """No request gets what an older one, of the same or a higher
        priority, needs and could have got.

        The older one was there when the planner first saw the younger one,
        because records become known in the order in which they were written;
        but it cannot plan a request before it has read the tenant's layout,
        nor grant it what a provider has before that is prepared.
        """
        for grant in self.records.grants:
            younger, zxid = grant.request, grant.transaction.zxid
            for older in self.records.requests.values():
                if not self._isBefore(older, younger, zxid):
                    continue
                self.figures['overtaken requests'] += 1
                if self._isHarmed(older, zxid):
                    yield (
                        f'request {younger.id} for {younger.labels} with '
                        f'rank {younger.ranks.before(zxid)} is granted at '
                        f'{zxid:#x}, while request {older.id} for '
                        f'{older.labels} with rank '
                        f'{older.ranks.before(zxid)} has to wait')

    def _isHarmed(self, request, zxid):
        """
        :return: whether a waiting request is served later because of a
            transaction.  Otherwise the planner has decided about both, and
            two transactions were committed in the reverse order: there was
            still room, nothing came back in between, or the request gets
            nodes that were there.
        """
        end = next((end for _, begin, end in request.states.spans()
                    if begin.zxid < zxid and (not end or end.zxid > zxid)))
        last = end.zxid if end else float('inf')
        nodes = self.records.nodes
        gone = (each.end.zxid for each in nodes.values() if each.end)
        if self._hasRoom(request.labels, zxid) or not any(
                zxid < each < last for each in gone):
            return False
        node_ids = request.node_ids.before(last + 1)
        return not node_ids or any(
            nodes[each].created.zxid > zxid for each in node_ids)

    def _hasRoom(self, labels, zxid):
        """:return: whether there is a provider with room for nodes of these
            labels after a transaction."""
        used = collections.Counter()
        for node in self.records.nodes.values():
            if node.created.zxid <= zxid and not (
                    node.end and node.end.zxid <= zxid):
                used.update(site.getUsage(node.provider, [node.label]))
        limits = site.getLimits()
        return any(
            all(used[key] + amount <= limits.get(key, float('inf'))
                for key, amount in site.getUsage(name, labels).items())
            for name, (_, _, offered) in site.PROVIDERS.items()
            if set(labels) <= set(offered))

    def _isBefore(self, older, younger, zxid):
        """:return: whether the nodes that a transaction gives to a request
            are due to another one that waits then."""
        if (older is younger or older.id in self.unread
                or (older.id, younger.id) in self.unprepared
                or older.created.zxid > younger.created.zxid
                or older.states.before(zxid) != State.REQUESTED
                or older.failures.before(zxid)):
            return False
        if len(older.ranks.values) > 1 or len(younger.ranks.values) > 1:
            # Which priority the planner knew is not known.
            return False
        if older.tenant != younger.tenant and not all(
                self.records.nodes[node_id].created.zxid == zxid
                for node_id in younger.node_ids.before(zxid + 1)):
            # A node that is there may be of another tenant's definition.
            return False
        return (older.ranks.before(zxid) < younger.ranks.before(zxid)
                and canUseInstead(older.labels, younger.labels))


def canUseInstead(wanted, labels):
    """
    :return: whether the capacity for these labels could be used for the
        wanted ones; if they are more, then as a part of it.
    """
    if not collections.Counter(wanted) - collections.Counter(labels):
        return True
    # There is no other place for a label of one provider.
    return len({*wanted, *labels}) == 1 and wanted[0] in site.SOLE_LABELS
