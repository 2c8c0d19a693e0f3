"""The providers of all tenants, as their layouts have them."""

import logging
import threading

from kazoo.exceptions import (
    ConnectionLoss,
    OperationTimeoutError,
    SessionExpiredError,
)
from zuul.provider import BaseProvider
from zuul.zk.exceptions import LockException
from zuul.zk.layout import LayoutProvidersStore, LayoutStateStore
from zuul.zk.locks import tenant_read_lock

from zuul_nodes import audit, providerrecords
from zuul_nodes.drivers import bounds
from zuul_nodes.launcher.providers.failures import describe
from zuul_nodes.launcher.providers.scope import Scope
from zuul_nodes.launcher.providers.unreadable import examine, isOfRecord

# With these, nothing can be read of any tenant.
LOST = (ConnectionLoss, OperationTimeoutError, SessionExpiredError)


class Layouts:
    """
    :param Session session: in which they are read.
    :param ConnectionRegistry connections: the launcher's own.
    :param str system_id: Zuul's.
    :param changed: called when a layout may have changed.
    :param findFormer: as of :class:`.scope.Scope`.
    :param adopt: called with a new scope, before it counts as read.
    :ivar dict tenant_providers: tenant -> its providers.
    :ivar dict states: tenant -> the layout's state that they are from.
    :ivar Scope scope: the same, to be looked up.
    :ivar bool put_off: whether there is something to do after an update:
        it has news, or somebody waits for it.
    :ivar int attempts: how many updates there have been, one after the
        other, that could not read all.
    """

    log = logging.getLogger('zuul.nodes.providers')

    def __init__(self, session, connections, system_id, changed, findFormer,
                 adopt):
        self.session = session
        self.zk_client = session.zk_client
        self.connections = connections
        self.system_id = system_id
        self.changed = changed
        self.findFormer = findFormer
        self.adopt = adopt
        self.tenant_providers = {}
        self.unreadable = {}
        self.states = {}
        self.scope = Scope({})
        self.put_off = False
        self.attempts = 0
        # Tenants whose providers are read, but not in the scope yet.
        self._fresh = set()
        # How often something has changed, and how much of that is read.
        self._changes = 1
        self._read = 0
        self._lock = threading.Lock()
        self.providers_store = LayoutProvidersStore(
            self.zk_client, connections, system_id)
        self.tenant_states = LayoutStateStore(self.zk_client, self._tell)

    @property
    def local_layout_state(self):
        """:attr:`states`, as the services of Zuul call it."""
        return self.states

    def _tell(self):
        with self._lock:
            self._changes += 1
        self.changed()

    def isUpToDate(self):
        """
        :return: whether no layout has changed since it was read, or could
            not be.  If not, whoever asks is to be asked again after the
            next update.
        """
        if self._read == self._changes:
            return True
        self.put_off = True
        # An update may have ended without having seen that.
        return self._read == self._changes

    def isKnown(self, tenant_name=None):
        """
        :param str tenant_name: None for all tenants.
        :return: whether its layout is read as it is; as
            :meth:`isUpToDate`.
        """
        return self.isUpToDate() and not (
            self.scope.unread if tenant_name is None
            else tenant_name in self.scope.unread)

    def isCertain(self, tenant_name):
        """As :meth:`isKnown`, for callers that give up if it is.

        A watch may be late: a node or a request can be here before it tells
        of the layout that it was made by.  So ZooKeeper is asked.
        """
        if not self.isKnown(tenant_name):
            return False
        names = ({*self.tenant_states, *self.states} if tenant_name is None
                 else {tenant_name})
        if any(self.states.get(name) != self.tenant_states.get(name)
               for name in names):
            self._tell()
        return self.isUpToDate()

    def isNewEnough(self, tenant_name, transaction_id):
        """
        :param int transaction_id: ZooKeeper's, by which a record was made.
        :return: whether the layout of the tenant that was in force then, or
            a later one, is read.  If not, as :meth:`isUpToDate`.
        """
        # Whoever has seen the record reads no state that is older.
        state = self.tenant_states.get(tenant_name)
        if (state is None or state == self.states.get(tenant_name)
                or state.ltime > transaction_id):
            return True
        self.put_off = True
        # One that could not be read is tried again anyway.
        if tenant_name not in self.scope.unread:
            self._tell()
        return False

    def update(self):
        """Read what has changed.

        :return: the names of tenants that have other providers now.
        :raises: there is no connection; what was read counts next time.
        """
        changes = self._changes
        unread = set()
        for name in {*self.tenant_providers, *self.tenant_states}:
            try:
                if self._updateTenant(name):
                    self._fresh.add(name)
            except LOST:
                raise
            except Exception as error:
                if name not in self.scope.unread:
                    self.log.warning(
                        'Unable to read the layout of tenant %s now, others '
                        'do not wait for it: %s', name, describe(error),
                        exc_info=not isinstance(error, LockException))
                unread.add(name)
        names = self._fresh
        if names or not unread >= self.scope.unread:
            # Whoever does something about it may fail, and the next update
            # has no news.  Or somebody waits for a tenant that is gone
            # unread.
            self.put_off = True
        if names:
            self.scope = Scope(
                self.tenant_providers, dict(self.unreadable),
                self.findFormer, frozenset(unread))
            self.adopt(self.scope)
            self._fresh = set()
        else:
            # All providers are what they were: nobody has to plan anew.
            self.scope.unread = frozenset(unread)
        self.attempts = self.attempts + 1 if unread else 0
        self._read = changes
        return names

    def _updateTenant(self, name):
        if self.states.get(name) == self.tenant_states.get(name):
            return False
        with tenant_read_lock(
                self.zk_client, name, blocking=False) as lock:
            state = self.tenant_states.get(name)
            # Others read these while we work.
            if state is None:
                self.tenant_providers = {
                    tenant: providers for tenant, providers
                    in self.tenant_providers.items() if tenant != name}
                self.unreadable.pop(name, None)
                self.states.pop(name, None)
                return True
            unreadable = {}
            providers = list(self._getProviders(
                self.session.context(lock, self.log), name, unreadable))
            if not lock.is_still_valid():
                raise LockException(f'the lock of tenant {name} is lost')
            self.tenant_providers = {
                **self.tenant_providers, name: providers}
            self.unreadable[name] = unreadable
            self.states[name] = state
        return True

    def _getProviders(self, context, tenant_name, unreadable):
        """
        :param dict unreadable: gets those that can't be read.
        :return: yields those that can.
        """
        for name in providerrecords.getNames(
                self.zk_client.client, tenant_name):
            path = providerrecords.getPath(tenant_name, name)
            try:
                provider = BaseProvider.fromZK(
                    context, path, self.connections, self.system_id,
                    self.zk_client)
                bounds.check(
                    provider.connection, tenant_name, provider.config)
            except Exception as error:
                if not isOfRecord(error):
                    raise
                if isinstance(error, bounds.BoundError):
                    audit.tell(
                        audit.Event.REFUSED, provider, reason=error,
                        launcher=self.session.identifier)
                # It may need a driver or a connection that is not here.
                # Its nodes are left alone.
                self.log.exception(
                    'Unable to read the provider at %s; tenant %s goes on '
                    'without it:', path, tenant_name)
                unreadable[name] = examine(
                    context, path, name, self.connections, error)
            else:
                yield provider
