"""Looks up the tenants' providers, and which of them a node belongs to.

Each tenant has its own object of a provider, built from the tenant's
configuration: two tenants' objects of the same provider may have different
labels.  :mod:`.identity` says what is the same.
"""

import collections
import functools

from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes import nodenotes
from zuul_nodes.drivers import bounds, forNode, getOwn, turnZones
from zuul_nodes.launcher.providers.failures import Failure
from zuul_nodes.launcher.providers.identity import (
    getIdentity,
    getPlace,
    getPlaceOf,
    hasEntry,
    identify,
    isCurrent,
    isGiven,
    isMadeFrom,
    settleEntries,
)

# A node of an old definition in one of these states contains no work.
UNUSED_STATES = (ProviderNode.State.REQUESTED, ProviderNode.State.READY)

# Size of the cache of forNode().
CACHE_SIZE = 1024


def isGivenAt(connections, connection_name):
    """:return: as :func:`isGiven`, for the driver of a connection; false if
        there is no such connection."""
    connection = connections.connections.get(connection_name)
    return connection is not None and isGiven(connection.driver)


def checkAddress(connections, node, address):
    """Check that the operator allows the launcher to connect to an address.

    :param ConnectionRegistry connections: the launcher's own.
    :param ProviderNode node: the node to connect to.
    :param str address: of the node's host.
    :raises BoundError: the operator does not allow it.
    """
    connection = connections.connections.get(node.connection_name)
    if connection is not None:
        bounds.checkAddress(connection, node.interface_ip, address)


def getZone(node, label):
    """
    :param ProviderLabel label: of the node.
    :return: the node's zone, if its label has several; otherwise empty.

    The zone stays the same during the whole launch, also with another request
    or launcher.
    """
    zones = getOwn(label).get('zones')
    if not zones:
        return ''
    # The record's request time never changes.  A node by another launcher may
    # have no other property to choose a zone by.
    return (node.az if node.az in zones
            else turnZones(zones, node.request_time)[0])


class MovedError(ProviderNodeError):
    """The node's provider does not exist any more at the node's endpoint."""
    failure = Failure.MOVED.value


class Scope:
    """Looks up the providers of all tenants.

    A scope is valid until a tenant's layout changes.

    :param dict tenant_providers: tenant -> its providers.
    :param dict unreadable: tenant -> canonical name -> :class:`.Unreadable`,
        of the providers that this launcher cannot read.
    :param findFormer: called with the names of a connection and an endpoint,
        as in :meth:`getPlaces`; returns a provider that was there, to delete
        nodes at an endpoint that no provider uses any more, or None.
    :param frozenset unread: tenants whose layouts cannot be read now, so their
        providers may have changed.
    :ivar dict by_tenant: tenant -> canonical name -> provider.
    :ivar dict by_name: canonical name -> the tenants' objects.
    :ivar dict unreadable_by_tenant: as the parameter ``unreadable``.
    :ivar set unreadable: canonical names of the same providers.
    :ivar forNode: :func:`zuul_nodes.drivers.forNode` with a cache.
    """

    def __init__(self, tenant_providers, unreadable=None,
                 findFormer=lambda place: None, unread=frozenset()):
        self.unreadable_by_tenant = unreadable or {}
        self.unreadable = set().union(*self.unreadable_by_tenant.values())
        self.findFormer = findFormer
        self.unread = unread
        self.by_tenant = {}
        self.by_name = collections.defaultdict(list)
        self.forNode = functools.lru_cache(CACHE_SIZE)(forNode)
        for tenant_name, providers in sorted(tenant_providers.items()):
            self.by_tenant[tenant_name] = {}
            for provider in providers:
                self.by_name[provider.canonical_name].append(provider)
        for name, providers in self.by_name.items():
            self.by_name[name] = settleEntries(providers)
            for provider in self.by_name[name]:
                self.by_tenant[provider.tenant_name][name] = provider
        # Name of a provider -> identity without what some records lack ->
        # identity -> the tenants' objects that make it.
        self._makers = {}

    @property
    def providers(self):
        """:return: a list of all tenants' objects."""
        return [provider for providers in self.by_tenant.values()
                for provider in providers.values()]

    def identify(self, node):
        """
        :param node: a node, or an object with the same attributes.
        :return: the :class:`.Identity` of a node, see :meth:`complete`.
        """
        return self.complete(identify(node), node)

    def complete(self, known, node=None):
        """
        :param Identity known: what the record of a node says; that of an older
            release does not say all.
        :param ProviderNode node: None if it is not static.
        :return: the only Identity that the node can have.  If there are
            several, it equals no label.
        """
        if known.made_of:
            return known
        possible = [
            each for each, providers in self._getMakers(known).items()
            if node is None or any(hasEntry(node, provider)
                                   for provider in providers)]
        return possible[0] if len(possible) == 1 else known

    def getMakers(self, node):
        """:return: a list of the tenants' objects of a provider whose label is
            what a node was made from."""
        known = self.identify(node)
        makers = self._getMakers(known).get(known, [])
        # Those of other drivers list no nodes, and there may be many.
        if makers and not makers[0].nodes and not isGiven(makers[0].driver):
            return makers
        return [each for each in makers if hasEntry(node, each)]

    def isFor(self, node, provider):
        """
        :param ProviderNode node: with any label.
        :param BaseProvider provider: one tenant's, or None.
        :return: whether that tenant can use the node.
        """
        return isMadeFrom(self.identify(node), provider) and hasEntry(
            node, provider)

    def _getMakers(self, known):
        """:return: each identity that a node may have -> the tenants' objects
            of its provider that make such nodes."""
        name = known.provider
        found = self._makers.get(name)
        if found is None:
            found = {}
            for provider in self.by_name.get(name, ()):
                for label_name in provider.labels:
                    made = getIdentity(provider, label_name)
                    found.setdefault(made._replace(made_of=None), {}
                        ).setdefault(made, []).append(provider)
            if all(each.place[1] is not None for each in found):
                self._makers[name] = found
        return found.get(known._replace(made_of=None), {})

    def getProviders(self, node):
        """:return: the tenants' objects of the node's provider, if the
            provider still has the endpoint at which the node was launched."""
        return [provider for provider in self.by_name.get(node.provider, ())
                if self._isAt(provider, node)]

    def _isAt(self, provider, node):
        connection_name, endpoint_name = getPlace(provider)
        return getPlaceOf(node) == (
            connection_name, endpoint_name or node.endpoint_name)

    def findProvider(self, node, tenant_name=None):
        """Choose the tenant's object of the provider of a node.

        :param str tenant_name: to which the node is assigned, if its record
            does not say so yet.
        :return: the object that launches or deletes the node, and in whose
            limits it counts; None if there is none.
        """
        assigned = tenant_name or node.tenant_name
        own = self.by_tenant.get(
            assigned or nodenotes.getTenant(node), {}).get(node.provider)
        if own is not None and (
                self._isAt(own, node) if assigned else self.isFor(node, own)):
            return own
        # The node is unassigned, or the tenant that it was launched for does
        # not have the provider any more.
        providers = self.getMakers(node) or self.getProviders(node)
        return next((each for each in providers if hasEntry(node, each)),
                    next(iter(providers), None))

    def getOwner(self, node, tenant_name=None):
        """
        :param str tenant_name: as of :meth:`findProvider`.
        :return: the name of the tenant in whose limits a node counts: that of
            its request, or another one that can use it, first of all the one
            that it was launched for; or else that one.  None if the node is
            static and idle, as it exists for all, or if its tenant is gone.
        """
        if assigned := tenant_name or node.tenant_name:
            return assigned
        owner = nodenotes.getTenant(node)
        if owner not in self.by_tenant:
            owner = None
        own = self.by_tenant.get(owner, {}).get(node.provider)
        if own is not None and self.isFor(node, own):
            return owner
        for provider in self.getMakers(node):
            return None if isGiven(
                provider.driver) else provider.tenant_name
        return owner

    def getProviderFor(self, node, ignore_label=False):
        """Find the provider of a node, for its label.

        :param bool ignore_label: whether any provider at the node's endpoint
            is sufficient, which can delete what the node's own provider has
            left.
        :return: the provider of the node's tenant, with the properties for
            nodes of that label.
        :raises MovedError: the provider is not at the node's endpoint any
            more.
        :raises ProviderNodeError: no provider is at the node's endpoint.
        """
        provider = self.findProvider(node)
        if ignore_label:
            return provider or self._getNeighbour(node)
        if provider is None:
            raise MovedError(
                f'there is no provider {node.provider} any more at endpoint '
                f'{node.endpoint_name} of connection {node.connection_name}')
        if node.label not in provider.labels:
            return provider
        return self.forNode(provider, node.label, getZone(
            node, provider.labels[node.label]))

    def hasProvider(self, node):
        """:return: whether the node may stay if it is unassigned."""
        if node.provider in self.unreadable or self.unread:
            return True
        if node.state not in UNUSED_STATES:
            return bool(self.getProviders(node))
        return any(isCurrent(node, provider)
                   for provider in self.getMakers(node))

    def getImageFormats(self):
        """:return: canonical name of each image that Zuul builds -> the
            formats that providers need."""
        needed = collections.defaultdict(set)
        for provider in self.providers:
            for image in provider.images.values():
                # The images of some drivers have no format.
                image_format = getattr(image, 'format', None)
                if image.type == 'zuul' and image_format:
                    needed[image.canonical_name].add(image_format)
        return needed

    def getPlaces(self):
        """:return: names of connection and endpoint -> a provider there, the
            same for all callers."""
        places = {}
        for _, providers in sorted(self.by_name.items()):
            for provider in sorted(
                    providers, key=lambda each: each.tenant_name):
                places.setdefault(getPlace(provider), provider)
        return places

    def _getNeighbour(self, node):
        place = getPlaceOf(node)
        provider = self.getPlaces().get(place) or self.findFormer(place)
        if provider is None:
            raise ProviderNodeError(
                f'there is no provider {node.provider} any more, nor '
                f'another one at endpoint {node.endpoint_name} of '
                f'connection {node.connection_name}')
        return provider
