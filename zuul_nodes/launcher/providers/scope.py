"""Looks up providers, and decides which nodes fit which providers.

Each tenant has its own object of a provider, built from the tenant's
configuration: two tenants' objects of the same provider may have different
labels.  A node belongs to a label if the hash of the label's whole definition
is the same.
"""

import collections
import functools
import itertools

from zuul.driver.static import StaticDriver
from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes.drivers import bounds, forNode, getOwn, turnZones
from zuul_nodes.launcher.providers.failures import Failure
from zuul_nodes.launcher.providers.quota import getSection

# A node of an old definition in one of these states contains no work.
UNUSED_STATES = (ProviderNode.State.REQUESTED, ProviderNode.State.READY)

# Size of the cache of forNode().
CACHE_SIZE = 1024


def isMadeFrom(node, provider):
    """
    :param node: a node, or an object with the same attributes.
    :param BaseProvider provider: one tenant's, or None.
    :return: whether the node was launched from that tenant's label.
    """
    label = provider and provider.labels.get(node.label)
    return bool(label) and label.config_hash == node.label_config_hash


def isFor(node, provider):
    """
    :param ProviderNode node: with any label.
    :param BaseProvider provider: one tenant's, or None.
    :return: whether that tenant can use the node.
    """
    return isMadeFrom(node, provider) and (
        not _hasEntries(provider) or getEntry(node, provider) is not None)


def isCurrent(node, provider):
    """:return: whether the node matches the provider's current definition.

    The entry of a static node may have a method ``isCurrent(node)``, for parts
    of its definition outside its label and its aliases.
    """
    if not isFor(node, provider):
        return False
    if not _hasEntries(provider):
        return True
    # The label's hash does not include the entry of a static node.
    entry = getEntry(node, provider)
    aliases = {*entry.aliases, *provider.labels[node.label].aliases}
    if entry.label != node.label or aliases != set(node.label_aliases):
        return False
    return not hasattr(entry, 'isCurrent') or entry.isCurrent(node)


def isGiven(driver):
    """:return: whether a driver's nodes are static."""
    # Zuul's static driver does not declare it.
    return getattr(driver, 'nodes_are_given',
                   isinstance(driver, StaticDriver))


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


def _hasEntries(provider):
    """:return: whether a provider has only the static nodes that it lists,
        even if it lists none."""
    return bool(provider.nodes) or isGiven(provider.driver)


def getEntry(node, provider):
    """:return: the provider's entry of a static node, or None."""
    if not provider.nodes:
        return None
    return provider.nodes.get(node.main_node_id or node.uuid)


def chooseProvider(node, providers):
    """Choose the tenant's object of a provider for a node.

    :param list providers: the tenants' objects of the node's provider.
    :return: the object that launches or deletes the node; None if there is
        none.
    """
    for provider in providers:
        if provider.tenant_name == node.tenant_name:
            return provider
    # The node is unassigned, or the tenant that it was launched for does not
    # have the provider any more.
    for fits in (isFor, isMadeFrom):
        for provider in providers:
            if fits(node, provider):
                return provider
    return providers[0] if providers else None


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
    :ivar dict by_section: name of a section -> canonical name -> one tenant's
        object of a provider that is attached to the section.
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
        self.by_section = collections.defaultdict(dict)
        self.forNode = functools.lru_cache(CACHE_SIZE)(forNode)
        for tenant_name, providers in tenant_providers.items():
            self.by_tenant[tenant_name] = {
                provider.canonical_name: provider for provider in providers}
            for provider in providers:
                name = provider.canonical_name
                self.by_name[name].append(provider)
                if section := getSection(provider):
                    self.by_section[section['name']][name] = provider

    def getProviders(self, node):
        """:return: the tenants' objects of the node's provider, if the
            provider still has the endpoint at which the node was launched."""
        return [provider for provider in self.by_name.get(node.provider, ())
                if _getPlace(provider, node.endpoint_name)
                == (node.connection_name, node.endpoint_name)]

    def findProvider(self, node):
        """:return: the provider of the node's tenant, or None."""
        return chooseProvider(node, self.getProviders(node))

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
        providers = self.getProviders(node)
        if node.state not in UNUSED_STATES:
            return bool(providers)
        return any(isCurrent(node, provider) for provider in providers)

    def getImageFormats(self):
        """:return: canonical name of each image that Zuul builds -> the
            formats that providers need."""
        needed = collections.defaultdict(set)
        for provider in itertools.chain(*self.by_name.values()):
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
                places.setdefault(_getPlace(provider), provider)
        return places

    def _getNeighbour(self, node):
        place = node.connection_name, node.endpoint_name
        provider = self.getPlaces().get(place) or self.findFormer(place)
        if provider is None:
            raise ProviderNodeError(
                f'there is no provider {node.provider} any more, nor '
                f'another one at endpoint {node.endpoint_name} of '
                f'connection {node.connection_name}')
        return provider


def _getPlace(provider, default=None):
    """:return: the names of the provider's connection and endpoint."""
    try:
        return provider.connection_name, provider.getEndpoint().name
    except Exception:
        # The driver cannot determine the endpoint now.
        return provider.connection_name, default
