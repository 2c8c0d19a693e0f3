"""Registers and deregisters static nodes.

A static node is not launched.  The driver updates its record when it rebuilds
the node; the launcher decides which static nodes have a record.
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
    """Registers and deregisters static nodes.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the providers of static nodes.
    :param NewRecords new_records: creates missing records.
    """

    def __init__(self, nodes, layouts, new_records):
        self.nodes = nodes
        self.session = nodes.session
        self.layouts = layouts
        self.new_records = new_records

    def reconcile(self, provider_name):
        """Register the static nodes of a provider, and deregister those it no
        longer has."""
        providers = self._getProviders(provider_name)
        if not providers or not self.layouts.isUpToDate():
            return
        known = dict.fromkeys(itertools.chain.from_iterable(
            provider.nodes for provider in providers))
        done = [self._try(node_id, self._register, providers, node_id)
                for node_id in known]
        # Otherwise the provider may have nodes that are not known.
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
        """Register a deleted static node again, if its provider still has it.
        """
        provider_name, node_id = key
        providers = self._getProviders(provider_name)
        if not providers or not self.layouts.isUpToDate():
            return
        if not self._try(node_id, self._register, providers, node_id):
            self.nodes.queue.retry(('gone', key))

    def _try(self, node_id, function, *arguments):
        """Call a function for a node, without stopping at errors.

        :return: whether the function succeeded.
        """
        try:
            function(*arguments)
        except LOST:
            raise
        except Conflict as conflict:
            log.debug('Retrying static node %s: %s', node_id, conflict)
            return False
        except Exception:
            log.exception('Unable to process static node %s:', node_id)
            return False
        return True

    def _getProviders(self, name):
        """:return: a list of the tenants' objects of a provider, if it has
            static nodes that this launcher handles."""
        return [provider for provider
                in self.layouts.scope.by_name.get(name, ())
                if isGiven(provider.driver)
                and self.nodes.ownership.handles(
                    provider.connection_name)]

    def _register(self, providers, node_id):
        """Register a static node, unless it is registered or was removed from
        the provider."""
        # The tenants' objects of a provider may differ.
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
            # Another launcher has registered it, or a lock of its old record
            # is left.
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
        # Otherwise a request that has just been granted the node would wait
        # for its lock, and this launcher for the job.
        transaction.checkNoPart(node.assignment)
        transaction.update(node, state=State.DEREGISTER)
        transaction.commit()


def _isFree(node):
    """:return: whether a node is unassigned and unlocked.  Others are
        outdated, and deleted when they are returned."""
    return not (node.is_locked or node.request_id
                or node.state in (State.HOLD, State.DEREGISTER))
