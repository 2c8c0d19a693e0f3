"""Static nodes: registered instead of made.

The driver brings the record of a machine up to date when it rebuilds it.
What is left is the launcher's: which of them have a record.
"""

import logging

from zuul.model import ProviderNode

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
        providers = [
            provider for provider in launcher.scope.by_name.get(
                provider_name, [])
            if provider.driver.name == 'static'
            and launcher.division.handles(provider.connection_name)]
        if not providers or not launcher.layouts.isUpToDate():
            return
        # One tenant's object may have nodes that another's has not.
        entries = {node_id: (provider, entry) for provider in providers
                   for node_id, entry in provider.nodes.items()}
        try:
            for node_id, (provider, entry) in entries.items():
                if launcher.api.getProviderNode(node_id) is None:
                    self._register(provider, entry)
            if provider_name in launcher.scope.unreadable:
                # It has nodes of which we do not know.
                return
            for node in launcher.api.getProviderNodes():
                if (node.provider == provider_name
                        and (node.main_node_id or node.uuid) not in entries
                        and _isFree(node)):
                    self._deregister(node)
        except Conflict as conflict:
            log.debug('Looking at provider %s again: %s',
                      provider_name, conflict)
            launcher.queue.retry(('static', provider_name))

    def _register(self, provider, entry):
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
