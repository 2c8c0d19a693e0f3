"""Static nodes: registered instead of made.

The driver brings the record of a machine up to date when it rebuilds it.
What is left is the launcher's: which of them have a record.
"""

import itertools
import logging

from zuul.model import ProviderNode

from zuul_nodes.launcher.limits import getSlotProblem
from zuul_nodes.launcher.transactions import Conflict

State = ProviderNode.State

log = logging.getLogger('zuul.Launcher')


class Registration:
    """
    :param Launcher launcher: that handles the nodes.
    """

    def __init__(self, launcher):
        self.launcher = launcher

    def reconcile(self, provider_name):
        """Register what a provider has, and end what it has no more."""
        launcher = self.launcher
        providers = self._getProviders(provider_name)
        if not providers or not launcher.layouts.isUpToDate():
            return
        known = dict.fromkeys(itertools.chain.from_iterable(
            provider.nodes for provider in providers))
        try:
            for node_id in known:
                self._register(providers, node_id)
            if (provider_name in launcher.scope.unreadable
                    or not launcher.layouts.isKnown()):
                # It has nodes of which we do not know.
                return
            for node in launcher.api.getProviderNodes():
                if (node.provider == provider_name
                        and (node.main_node_id or node.uuid) not in known
                        and _isFree(node)):
                    self._deregister(node)
        except Conflict as conflict:
            log.debug('Looking at provider %s again: %s',
                      provider_name, conflict)
            launcher.queue.retry(('static', provider_name))

    def reconcileNode(self, key):
        """Register a node anew that has gone, if its provider has it still.

        :param tuple key: canonical name of the provider, uuid of the node.
        """
        provider_name, node_id = key
        providers = self._getProviders(provider_name)
        if not providers or not self.launcher.layouts.isUpToDate():
            return
        try:
            self._register(providers, node_id)
        except Conflict as conflict:
            log.debug('Looking at static node %s again: %s',
                      node_id, conflict)
            self.launcher.queue.retry(('gone', key))

    def _getProviders(self, name):
        """:return: a list of the tenants' objects of a provider, if it has
            static nodes that we handle."""
        return [provider for provider
                in self.launcher.scope.by_name.get(name, ())
                if provider.driver.name == 'static'
                and self.launcher.division.handles(provider.connection_name)]

    def _register(self, providers, node_id):
        """Register a node, unless it is or nobody has it."""
        # One tenant's object may have nodes that another's has not.
        provider = next(
            (each for each in providers if node_id in each.nodes), None)
        if provider is None or self.launcher.api.getProviderNode(node_id):
            return
        entry = provider.nodes[node_id]
        if problem := getSlotProblem(provider.labels[entry.label]):
            log.error('Unable to register static node %s of %s: %s',
                      node_id, provider.canonical_name, problem)
            return
        records = self.launcher.maker.makeStaticNode(provider, entry)
        transaction = self.launcher.store.transaction()
        for record in records:
            transaction.create(record)
        try:
            self.launcher.commitNew(transaction, records)
        except Conflict:
            # Another launcher was quicker, or its lock is still there.
            if not self.launcher.store.exists(records[0].getPath()):
                self.launcher.store.removeLock(records[0].getLockPath())
                raise
            return
        log.info('Registered static node %s of %s', records[0].uuid,
                 provider.canonical_name)

    def _deregister(self, node):
        log.info('Deregistering %s', node)
        transaction = self.launcher.store.transaction()
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
