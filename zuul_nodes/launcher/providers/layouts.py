"""Reads the layouts of all tenants, and holds their providers."""

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

from zuul_nodes import audit, imagelayouts, providerrecords
from zuul_nodes.drivers import bounds
from zuul_nodes.launcher.providers.failures import describe
from zuul_nodes.launcher.providers.scope import Scope
from zuul_nodes.launcher.providers.unreadable import examine, isOfRecord
from zuul_nodes.launcher.zookeeper import TreeWatch

# Errors of the connection, with which no tenant can be read.
LOST = (ConnectionLoss, OperationTimeoutError, SessionExpiredError)


class Layouts:
    """Reads the layouts of all tenants, and holds their providers.

    :param Session session: reads the layouts.
    :param ConnectionRegistry connections: the launcher's own.
    :param str system_id: Zuul's.
    :param changed: called when a layout may have changed.
    :param findFormer: as :class:`.scope.Scope` has it.
    :param adopt: called with a new scope before it counts as read.
    :ivar dict states: tenant -> the state of the layout that has been read.
    :ivar Scope scope: the providers of all tenants.
    :ivar TreeWatch watch: reports changed layouts in time, as long as it is
        complete.
    :ivar bool put_off: whether work waits for the end of an update: the update
        has news, or a caller was told to come back.
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
        # Tenant -> its providers, as their records say.
        self._providers = {}
        self.unreadable = {}
        self.states = {}
        self.scope = Scope({})
        self.put_off = False
        # Names of tenants whose new providers are not in the scope yet.
        self._fresh = set()
        # Number of changes, and the number of changes that have been read.
        self._changes = 1
        self._read = 0
        self._lock = threading.Lock()
        self.providers_store = LayoutProvidersStore(
            self.zk_client, connections, system_id)
        self.watch = TreeWatch(
            session.client, session.own_writes, LayoutStateStore.layout_root,
            self._noteChange)
        self.tenant_states = LayoutStateStore(
            self.zk_client, self._noteLate)

    @property
    def local_layout_state(self):
        """:attr:`states`, under the name that Zuul's services use."""
        return self.states

    def _noteChange(self):
        with self._lock:
            self._changes += 1
        self.changed()

    def _noteLate(self):
        if not self.watch.isComplete():
            self._noteChange()

    def isUpToDate(self):
        """:return: whether no layout has changed since the last update.  If
            not, the caller's work has to be repeated after the next update."""
        if self._read == self._changes:
            return True
        self.put_off = True
        # An update may have ended before it could see put_off.
        return self._read == self._changes

    def isKnown(self, tenant_name=None):
        """
        :param str tenant_name: None for all tenants.
        :return: whether the tenant's current layout has been read; if not, as
            :meth:`isUpToDate`.
        """
        return self.isUpToDate() and not (
            self.scope.unread if tenant_name is None
            else tenant_name in self.scope.unread)

    def isCertain(self, tenant_name):
        """As :meth:`isKnown`, for callers that would fail a node or a request.

        The launcher may see a node or a request before it learns of the layout
        that it comes from, if the watch is not complete.
        """
        is_complete = self.watch.isComplete()
        if not self.isKnown(tenant_name):
            return False
        names = ({*self.tenant_states, *self.states} if tenant_name is None
                 else {tenant_name})
        if not is_complete and any(
                self.states.get(name) != self.tenant_states.get(name)
                for name in names):
            self._noteChange()
        return self.isUpToDate() and all(map(self._isWritten, names))

    def _isWritten(self, tenant_name):
        """:return: whether the providers of a tenant are complete.

        A scheduler tells of the images of a layout, deletes the records of all
        providers, writes the new ones, and then the state of the layout.  It
        may have ended in between.
        """
        state = self.states.get(tenant_name)
        images = imagelayouts.read(self.zk_client.client, tenant_name)
        return None in (state, images) or state.uuid == images.layout_uuid

    def isNewEnough(self, tenant_name, transaction_id):
        """
        :param int transaction_id: the id of ZooKeeper's transaction that
            created a record.
        :return: whether the tenant's layout at that time, or a later one, has
            been read.  If not, as :meth:`isUpToDate`.
        """
        if (self.watch.isComplete() and self._read == self._changes
                and tenant_name not in self.scope.unread):
            return True
        # A process that has seen the record reads at least the layout state of
        # that time.
        state = self.tenant_states.get(tenant_name)
        if (state is None or state == self.states.get(tenant_name)
                or state.ltime > transaction_id):
            return True
        self.put_off = True
        # An unread layout is retried anyway.
        if tenant_name not in self.scope.unread:
            self._noteChange()
        return False

    def update(self):
        """Read the changed layouts.

        :return: the names of the tenants whose providers have changed.
        :raises Exception: the connection is lost, one of ``LOST``; the next
            update returns the tenants that have been read.
        """
        changes = self._changes
        unread = set()
        for name in {*self._providers, *self.tenant_states}:
            try:
                if self._updateTenant(name):
                    self._fresh.add(name)
            except LOST:
                raise
            except Exception as error:
                if name not in self.scope.unread:
                    self.log.warning(
                        'Unable to read the layout of tenant %s now; '
                        'continuing with other tenants: %s', name,
                        describe(error),
                        exc_info=not isinstance(error, LockException))
                unread.add(name)
        names = self._fresh
        if names or not unread >= self.scope.unread:
            # The work after an update may fail, and the next update has no
            # news.  Or a caller waits for a tenant that was deleted before it
            # could be read.
            self.put_off = True
        if names:
            self.scope = Scope(
                self._providers, dict(self.unreadable),
                self.findFormer, frozenset(unread))
            self.adopt(self.scope)
            self._fresh = set()
        else:
            # The providers are unchanged, so no request has to be planned
            # again.
            self.scope.unread = frozenset(unread)
        self._read = changes
        return names

    def _updateTenant(self, name):
        if self.states.get(name) == self.tenant_states.get(name):
            return False
        with tenant_read_lock(
                self.zk_client, name, blocking=False) as lock:
            state = self.tenant_states.get(name)
            if state is None:
                self._providers.pop(name, None)
                self.unreadable.pop(name, None)
                self.states.pop(name, None)
                return True
            unreadable = {}
            providers = list(self._getProviders(
                self.session.context(lock, self.log), name, unreadable))
            if not lock.is_still_valid():
                raise LockException(f'the lock of tenant {name} is lost')
            self._providers[name] = providers
            self.unreadable[name] = unreadable
            self.states[name] = state
        return True

    def _getProviders(self, context, tenant_name, unreadable):
        """
        :param dict unreadable: receives the providers that cannot be read.
        :return: yields the providers that can.  One with the same record as
            before is the same object, so that what the launcher knows of it
            stays valid.
        """
        # Those of the scope may have other ids of static nodes.
        former = {provider.canonical_name: provider for provider
                  in self._providers.get(tenant_name, ())}
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
                # The driver or the connection may be missing here.  The
                # provider's nodes stay.
                self.log.exception(
                    'Unable to read the provider at %s; continuing without it '
                    'in tenant %s:', path, tenant_name)
                unreadable[name] = examine(
                    context, path, name, self.connections, error)
            else:
                yield _choose(former.get(name), provider)


def _choose(former, provider):
    """:return: the former object of a provider, or None, if it is equal to the
        new one; otherwise the new one."""
    is_same = former is not None and (
        former.connection is provider.connection
        and providerrecords.getPlain(former.config)
        == providerrecords.getPlain(provider.config)
        # A driver may have it from a file of the operator.
        and _getFormats(former) == _getFormats(provider))
    return former if is_same else provider


def _getFormats(provider):
    return {name: getattr(image, 'format', None)
            for name, image in provider.images.items()}
