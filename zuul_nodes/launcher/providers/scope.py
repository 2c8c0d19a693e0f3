"""Which provider makes a node, and for whom a node is good.

A tenant has its own object of a provider, made from what the tenant has:
its labels may be other ones than in the next tenant's object of the same
provider.  A node and a label belong together by the hash that a label
has of its whole definition.
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

# In these, a node with an old definition has nothing that would be lost.
RETIRED_STATES = (ProviderNode.State.REQUESTED, ProviderNode.State.READY)

# How many ways of making a node are kept.
VIEWS = 1024


def isMadeFrom(node, provider):
    """
    :param node: a node, or what has the same attributes.
    :param BaseProvider provider: one tenant's, or None.
    :return: whether that tenant's label is the one that the node was
        made from.
    """
    label = provider and provider.labels.get(node.label)
    return bool(label) and label.config_hash == node.label_config_hash


def isFor(node, provider):
    """
    :param ProviderNode node: with whatever label it was asked for.
    :param BaseProvider provider: one tenant's, or None.
    :return: whether that tenant may have the node.
    """
    return isMadeFrom(node, provider) and (
        not _hasEntries(provider) or getEntry(node, provider) is not None)


def isCurrent(node, provider):
    """
    :return: whether the provider would make the node as it is.

    The entry of a static node may have a method ``isCurrent(node)``, for
    what of it is in neither its label nor its aliases.
    """
    if not isFor(node, provider):
        return False
    if not _hasEntries(provider):
        return True
    # What the entry of a static node says is not in the label's hash.
    entry = getEntry(node, provider)
    aliases = {*entry.aliases, *provider.labels[node.label].aliases}
    if entry.label != node.label or aliases != set(node.label_aliases):
        return False
    return not hasattr(entry, 'isCurrent') or entry.isCurrent(node)


def isGiven(driver):
    """:return: whether the nodes of a driver are machines that are there
        already."""
    # Zuul's own driver of such machines does not declare it.
    return getattr(driver, 'nodes_are_given',
                   isinstance(driver, StaticDriver))


def isGivenAt(connections, connection_name):
    """:return: as :func:`isGiven`, for the driver of a connection; false if
        there is no such connection."""
    connection = connections.connections.get(connection_name)
    return connection is not None and isGiven(connection.driver)


def checkAddress(connections, node, address):
    """
    :param ConnectionRegistry connections:
    :param ProviderNode node: that is about to be connected to.
    :param str address: of its host.
    :raises BoundError: the operator does not allow that.
    """
    connection = connections.connections.get(node.connection_name)
    if connection is not None:
        bounds.checkAddress(connection, node.interface_ip, address)


def _hasEntries(provider):
    """:return: whether a provider has only the nodes that it lists, be it
        none."""
    return bool(provider.nodes) or isGiven(provider.driver)


def getEntry(node, provider):
    """:return: what the provider says of a static node, or None."""
    if not provider.nodes:
        return None
    return provider.nodes.get(node.main_node_id or node.uuid)


def chooseProvider(node, providers):
    """
    :param list providers: the tenants' objects of the node's provider.
    :return: the one that makes the node, or None if there are none.
    """
    for provider in providers:
        if provider.tenant_name == node.tenant_name:
            return provider
    # It is nobody's, or was made for a tenant that has the provider no
    # more.
    for suits in (isFor, isMadeFrom):
        for provider in providers:
            if suits(node, provider):
                return provider
    return providers[0] if providers else None


def getZone(node, label):
    """
    :param ProviderLabel label: of the node.
    :return: of the label's several zones, the node's; empty if there are
        not several.

    It stays the same for as long as the node is built, whatever becomes of
    its request and of the launcher.
    """
    zones = getOwn(label).get('zones')
    if not zones:
        return ''
    # The time of the request never changes in a record.  That of another
    # launcher may have nothing else to choose by.
    return (node.az if node.az in zones
            else turnZones(zones, node.request_time)[0])


class MovedError(ProviderNodeError):
    """There is no such provider any more where a node is."""
    failure = Failure.OVERTAKEN.value


class Scope:
    """The providers of all tenants, as they can be looked up.

    Good for as long as no tenant's layout changes.

    :param dict tenant_providers: tenant -> its providers.
    :param dict unreadable: tenant -> canonical name -> what is known of a
        provider that nobody here knows how to use, of class Unreadable.
    :param findFormer: called with connection and endpoint, as in
        :meth:`getPlaces`: gives a provider that was there, to delete what
        is left where nobody has one any more, or None.
    :param frozenset unread: tenants that may have other providers, for
        their layouts can't be read now.
    :ivar dict by_tenant: tenant -> canonical name -> provider.
    :ivar dict by_name: canonical name -> the tenants' objects.
    :ivar dict unreadable_by_tenant: as the parameter.
    :ivar set unreadable: canonical names of the same.
    :ivar dict by_section: name of a section -> canonical name -> one of
        the objects of a provider that is attached to it.
    :ivar forNode: :func:`zuul_nodes.drivers.forNode`, remembering.
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
        self.forNode = functools.lru_cache(VIEWS)(forNode)
        for tenant_name, providers in tenant_providers.items():
            self.by_tenant[tenant_name] = {
                provider.canonical_name: provider for provider in providers}
            for provider in providers:
                name = provider.canonical_name
                self.by_name[name].append(provider)
                if section := getSection(provider):
                    self.by_section[section['name']][name] = provider

    def getProviders(self, node):
        """:return: the tenants' objects of the node's provider, if it is
            still where it was when it made the node."""
        return [provider for provider in self.by_name.get(node.provider, ())
                if _getPlace(provider, node.endpoint_name)
                == (node.connection_name, node.endpoint_name)]

    def findProvider(self, node):
        """:return: the provider of the node's tenant, or None."""
        return chooseProvider(node, self.getProviders(node))

    def getProviderFor(self, node, ignore_label=False):
        """
        :param bool ignore_label: any provider that sees what the node's
            provider, which may be gone, has left, is good enough.
        :return: the provider of the node's tenant, as it makes nodes with
            that label.
        :raises MovedError: there is none any more.
        :raises ProviderNodeError: nor is there a neighbour.
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
        """:return: whether the node may stay, if nobody has it."""
        if node.provider in self.unreadable or self.unread:
            return True
        providers = self.getProviders(node)
        if node.state not in RETIRED_STATES:
            return bool(providers)
        return any(isCurrent(node, provider) for provider in providers)

    def getImageFormats(self):
        """:return: the canonical name of each image that Zuul builds -> the
            formats in which providers need it."""
        needed = collections.defaultdict(set)
        for provider in itertools.chain(*self.by_name.values()):
            for image in provider.images.values():
                # Images of some drivers have no format.
                image_format = getattr(image, 'format', None)
                if image.type == 'zuul' and image_format:
                    needed[image.canonical_name].add(image_format)
        return needed

    def getPlaces(self):
        """:return: names of connection and endpoint -> a provider there,
            the same one for all who ask."""
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
    """:return: names of its connection and its endpoint."""
    try:
        return provider.connection_name, provider.getEndpoint().name
    except Exception:
        # Its driver can't say so now.
        return provider.connection_name, default
