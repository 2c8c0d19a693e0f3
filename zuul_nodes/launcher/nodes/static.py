"""Static nodes: registered instead of made.

The driver brings the record of a machine up to date when it rebuilds it.
What is left is the launcher's: which of them have a record.
"""

import itertools
import logging

from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.planner import getSlotProblem
from zuul_nodes.launcher.providers import LOST, isGiven
from zuul_nodes.launcher.zookeeper import Conflict, commitNew

State = ProviderNode.State

log = logging.getLogger('zuul.nodes.nodes')


class StaticNodes:
    """
    :param NodeRecords nodes:
    :param Layouts layouts: with the providers that have them.
    :param NewRecords new_records: makes those that are missing.
    """

    def __init__(self, nodes, layouts, new_records):
        self.nodes = nodes
        self.session = nodes.session
        self.layouts = layouts
        self.new_records = new_records

    def reconcile(self, provider_name):
        """Register what a provider has, and end what it has no more."""
        providers = self._getProviders(provider_name)
        if not providers or not self.layouts.isUpToDate():
            return
        known = dict.fromkeys(itertools.chain.from_iterable(
            provider.nodes for provider in providers))
        done = [self._try(node_id, self._register, providers, node_id)
                for node_id in known]
        # Else it has nodes of which we do not know.
        if (provider_name not in self.layouts.scope.unreadable
                and self.layouts.isKnown()):
            done += [
                self._try(node.uuid, self._deregister, node)
                for node in self.nodes.getAll()
                if node.provider == provider_name
                and (node.main_node_id or node.uuid) not in known
                and _isFree(node)]
        if not all(done):
            self.nodes.queue.retry(('static', provider_name))

    def reconcileNode(self, key):
        """Register a node anew that has gone, if its provider has it still.

        :param tuple key: canonical name of the provider, uuid of the node.
        """
        provider_name, node_id = key
        providers = self._getProviders(provider_name)
        if not providers or not self.layouts.isUpToDate():
            return
        if not self._try(node_id, self._register, providers, node_id):
            self.nodes.queue.retry(('gone', key))

    def _try(self, node_id, function, *arguments):
        """:return: whether that is done; if not, others are not kept from
            it."""
        try:
            function(*arguments)
        except LOST:
            raise
        except Conflict as conflict:
            log.debug('Looking at static node %s again: %s',
                      node_id, conflict)
            return False
        except Exception:
            log.exception('Unable to go on with static node %s:', node_id)
            return False
        return True

    def _getProviders(self, name):
        """:return: a list of the tenants' objects of a provider, if it has
            static nodes that we handle."""
        return [provider for provider
                in self.layouts.scope.by_name.get(name, ())
                if isGiven(provider.driver)
                and self.nodes.ownership.handles(
                    provider.connection_name)]

    def _register(self, providers, node_id):
        """Register a node, unless it is or nobody has it."""
        # One tenant's object may have nodes that another's has not.
        provider = next(
            (each for each in providers if node_id in each.nodes), None)
        if provider is None or self.nodes.get(node_id):
            return
        entry = provider.nodes[node_id]
        if problem := getSlotProblem(provider.labels[entry.label]):
            log.error('Unable to register static node %s of %s: %s',
                      node_id, provider.canonical_name, problem)
            return
        records = self.new_records.makeStaticNode(provider, entry)
        transaction = self.session.transaction()
        for record in records:
            transaction.create(record)
            transaction.audit(audit.Event.CREATED, provider, record,
                              result=audit.Result.BEGUN)
        try:
            commitNew(self.nodes.records, transaction, records)
        except Conflict:
            # Another launcher was quicker, or its lock is still there.
            path = records[0].getPath()
            if not self.session.exists(path):
                self.session.removeLock(
                    path, records[0].getLockPath())
                raise
            return
        log.info('Registered static node %s of %s', records[0].uuid,
                 provider.canonical_name)

    def _deregister(self, node):
        log.info('Deregistering %s', node)
        transaction = self.session.transaction()
        transaction.checkUnlocked(node)
        # Who gets it would wait for its lock, and we for that job.
        transaction.checkNoPart(node.assignment)
        transaction.update(node, state=State.DEREGISTER)
        transaction.commit()


def _isFree(node):
    """:return: whether nobody has a node.  Those that somebody has go when
        they are given back, as they are outdated then."""
    return not (node.is_locked or node.request_id
                or node.state in (State.HOLD, State.DEREGISTER))
