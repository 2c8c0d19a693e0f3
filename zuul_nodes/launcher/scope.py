"""Which provider makes a node, and for whom a node is good.

A tenant has its own object of a provider, made from what the tenant has:
its labels may be other ones than in the next tenant's object of the same
provider.  A node and a label belong together by the hash that a label
has of its whole definition.
"""

import collections
import functools

from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes.drivers import forNode, getOwn
from zuul_nodes.launcher.quota import getSection

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
        not provider.nodes or getEntry(node, provider) is not None)


def isCurrent(node, provider):
    """
    :return: whether the provider would make the node as it is.

    The entry of a static node may have a method ``isCurrent(node)``, for
    what of it is in neither its label nor its aliases.
    """
    if not isFor(node, provider):
        return False
    if not provider.nodes:
        return True
    # What the entry of a static node says is not in the label's hash.
    entry = getEntry(node, provider)
    aliases = {*entry.aliases, *provider.labels[node.label].aliases}
    if entry.label != node.label or aliases != set(node.label_aliases):
        return False
    return not hasattr(entry, 'isCurrent') or entry.isCurrent(node)


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


def getZoneKey(node):
    """
    :return: what the availability zone of a node is chosen by.

    It has to stay the same for as long as the node is built, whatever
    becomes of its request and of the launcher.  The time of the request
    is written to its nodes when they are made, and never changed.
    """
    return str(node.request_time)


class Scope:
    """The providers of all tenants, as they can be looked up.

    Good for as long as no tenant's layout changes.

    :param dict tenant_providers: tenant -> its providers.
    :ivar dict by_tenant: tenant -> canonical name -> provider.
    :ivar dict by_name: canonical name -> the tenants' objects.
    :ivar dict by_section: name of a section -> canonical name -> one of
        the objects of a provider that is attached to it.
    :ivar forNode: :func:`zuul_nodes.drivers.forNode`, remembering.
    """

    def __init__(self, tenant_providers):
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
        """:return: the tenants' objects of the node's provider."""
        return self.by_name.get(node.provider, [])


class ScopeMixin:
    """Makes Zuul's launcher keep tenants and definitions apart."""

    _scope = None

    @property
    def scope(self):
        if self._scope is None:
            self._scope = Scope(self.tenant_providers)
        return self._scope

    def _updateTenantProviders(self, tenant_name):
        try:
            return super()._updateTenantProviders(tenant_name)
        finally:
            self._scope = None

    def _getProviderForNode(self, node, ignore_label=False):
        """:return: the provider of the node's tenant, as it makes nodes
            with that label."""
        if not node.provider:
            return super()._getProviderForNode(node, ignore_label)
        provider = chooseProvider(node, self.scope.getProviders(node))
        if ignore_label:
            provider = provider or self._getNeighbour(node)
        if provider is None:
            raise ProviderNodeError(f'Unable to find provider for {node}')
        if ignore_label or node.label not in provider.labels:
            return provider
        return self.scope.forNode(
            provider, node.label, getZoneKey(node)
            if 'zones' in getOwn(provider.labels[node.label]) else '')

    def _getHandledProviders(self):
        """:return: yields the providers whose nodes are ours to make."""
        for provider in self._getProviders():
            if (not self.connection_filter
                    or provider.connection_name in self.connection_filter):
                yield provider

    def _getNeighbour(self, node):
        """:return: any provider that sees what the node's provider, which
            is gone, has left."""
        for provider in self._getProviders():
            if (provider.connection_name == node.connection_name
                    and provider.getEndpoint().name == node.endpoint_name):
                return provider
        return None

    def _hasProvider(self, node):
        """:return: whether the node may stay, if nobody has it."""
        if not node.provider:
            return super()._hasProvider(node)
        providers = self.scope.getProviders(node)
        if node.state not in RETIRED_STATES:
            return bool(providers)
        return any(isCurrent(node, provider) for provider in providers)

    def _filterUnassignedNodes(self, unassigned_nodes, request):
        found = super()._filterUnassignedNodes(unassigned_nodes, request)
        providers = self.scope.by_tenant.get(request.tenant_name, {})
        for label_name in set(request.labels):
            for node in found.getNodesForLabel(label_name):
                if not isFor(node, providers.get(node.provider)):
                    found.removeNode(node)
        return found

    def _requestNode(self, label, request, provider, *args, **kwargs):
        # A new node's record does not have the zone.
        provider = self.scope.forNode(provider, label.name, '')
        return super()._requestNode(
            provider.labels[label.name], request, provider, *args, **kwargs)
