"""Says what belongs together: the only place that compares what nodes are.

* Which node may serve which label: :class:`Identity`.
* Which failures concern which label of which tenants: :class:`Subject`.
* In which accounts a node counts: :class:`Account`.
* Which entries of static nodes share a record: :func:`settleEntries`.

Tenants have objects of their own of each provider, and names alone say
little: two tenants may resolve the section or the image that a provider names
to objects of different projects, and a merged change may move a provider to
another account.  So an identity has the place of a node, its provider, and
all that the node was made of.
"""

from collections.abc import Iterable
import copy
import hashlib
import json
from typing import Any, NamedTuple, Protocol
import uuid
import weakref

from zuul.driver.static import StaticDriver
from zuul.model import ProviderNode
from zuul.provider import BaseProvider

from zuul_nodes import nodenotes
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.launcher.providers.quota import getSection

# Attributes of a provider that say nothing of the nodes that it makes; what
# labels, images and flavors inherit is part of theirs.
OF_NO_NODE = frozenset({
    'abstract', 'connection', 'description', 'flavor-defaults', 'flavors',
    'floating-ip-cleanup', 'ignore-provider-quota', 'image-defaults', 'images',
    'include-all-node-labels', 'label-defaults', 'labels', 'launch-attempts',
    'launch-timeout', 'name', 'nodes', 'object-storage', 'parent',
    'port-cleanup-interval', 'priority', 'resource-limits', 'section'})

# Names of a connection and of an endpoint; the latter is None if the driver
# cannot say it.
Place = tuple[str, str | None]


class Identity(NamedTuple):
    """What a node is: nodes of equal identity can replace each other.

    :ivar provider: canonical name.
    :ivar place: of the provider, when the node was made.
    :ivar label: name of the node's own label.
    :ivar config_hash: Zuul's, of the label with its image and its flavor.
    :ivar made_of: hash of what Zuul's hash lacks: the project of the image,
        and the attributes of section and provider.  None if unknown, as of a
        node that an older release or Zuul's launcher has made.
    """
    provider: str
    place: Place
    label: str
    config_hash: str | None
    made_of: str | None


class Described(Protocol):
    """What has the attributes of a node that its identity consists of."""
    provider: str
    connection_name: str
    endpoint_name: str | None
    label: str
    label_config_hash: str | None


# Provider -> label -> Identity.
_known: weakref.WeakKeyDictionary[BaseProvider, dict[str, Identity]] = (
    weakref.WeakKeyDictionary())
# Provider -> its static nodes, as of :func:`_getDefinitions`; and its last
# copy, as of :func:`_withIds`.
_definitions: weakref.WeakKeyDictionary[BaseProvider, dict[str, str]] = (
    weakref.WeakKeyDictionary())
_views: weakref.WeakKeyDictionary[
    BaseProvider, tuple[dict[str, str], BaseProvider]] = (
        weakref.WeakKeyDictionary())


def getPlace(provider: BaseProvider) -> Place:
    """:return: the names of the provider's connection and endpoint."""
    try:
        return provider.connection_name, provider.getEndpoint().name
    except Exception:
        # The driver cannot determine the endpoint now.
        return provider.connection_name, None


def getPlaceOf(node: Described) -> Place:
    """:return: where a node was made."""
    return node.connection_name, node.endpoint_name


def getIdentity(provider: BaseProvider, label_name: str) -> Identity | None:
    """
    :param provider: one tenant's.
    :return: the identity of the nodes that it makes of a label; None if it
        does not have the label.
    """
    label = provider.labels.get(label_name)
    if label is None:
        return None
    known = _known.setdefault(provider, {})
    found = known.get(label_name)
    if found is None:
        place = getPlace(provider)
        found = Identity(provider.canonical_name, place, label_name,
                         label.config_hash, _getMadeOf(provider, label))
        if place[1] is not None:
            known[label_name] = found
    return found


def _getMadeOf(provider: BaseProvider, label: Any) -> str:
    image = provider.images.get(label.image)
    settings = {name: value for name, value in provider.config.items()
                if name not in OF_NO_NODE}
    return hashlib.sha256(json.dumps(
        [image and image.canonical_name, settings], sort_keys=True,
        default=str).encode()).hexdigest()[:16]


def identify(node: Described) -> Identity:
    """:return: what the record of a node says that it is; see
        :meth:`.scope.Scope.identify`."""
    return Identity(node.provider, getPlaceOf(node), node.label,
                    node.label_config_hash, nodenotes.getMadeOf(node))


def isMadeFrom(identity: Identity, provider: BaseProvider | None) -> bool:
    """
    :param provider: one tenant's, or None.
    :return: whether that tenant's label is what a node was made from.
    """
    return provider is not None and identity == getIdentity(
        provider, identity.label)


# Static nodes

def isGiven(driver: Any) -> bool:
    """:return: whether a driver's nodes are static."""
    # Zuul's static driver does not declare it.
    return bool(getattr(driver, 'nodes_are_given',
                        isinstance(driver, StaticDriver)))


def hasEntry(node: ProviderNode, provider: BaseProvider) -> bool:
    """:return: whether a provider lists a static node; true for other nodes.
    """
    # A provider of static nodes may list none.
    return not (provider.nodes or isGiven(provider.driver)) or (
        getEntry(node, provider) is not None)


def getEntry(node: ProviderNode, provider: BaseProvider) -> Any:
    """:return: the provider's entry of a static node, or None."""
    return provider.nodes.get(getMachineId(node)) if provider.nodes else None


def getMachineId(node: ProviderNode) -> str:
    """:return: the uuid of a node, or of the host of a slot."""
    return node.main_node_id or node.uuid


def isCurrent(node: ProviderNode, provider: BaseProvider) -> bool:
    """:return: whether a node that was made from a provider's label matches
        the provider's entry of it, if it is static.

    The entry may have a method ``isCurrent(node)``, for parts of its
    definition outside its label and its aliases.
    """
    entry = getEntry(node, provider)
    if entry is None:
        return True
    # The label's hash does not include the entry of a static node.
    aliases = {*entry.aliases, *provider.labels[node.label].aliases}
    if entry.label != node.label or aliases != set(node.label_aliases):
        return False
    return not hasattr(entry, 'isCurrent') or bool(entry.isCurrent(node))


def settleEntries(providers: Iterable[BaseProvider]) -> list[BaseProvider]:
    """Give each definition of a static machine a record of its own.

    Zuul derives the id of a record from the name of the provider and the
    machine, so the records of tenants with other labels, or other attributes
    of the labels, would have the same id.  The first definition keeps it.
    The launcher knows that the records are the same machine.

    :param providers: the tenants' objects of one provider, always in the same
        order.
    :return: the same; of those that define a machine in another way than one
        before, copies with other ids of their entries.
    """
    firsts: dict[str, str] = {}
    settled = []
    for provider in providers:
        ids = {}
        for node_id, definition in _getDefinitions(provider).items():
            if firsts.setdefault(node_id, definition) != definition:
                ids[node_id] = uuid.uuid5(uuid.UUID(node_id), definition).hex
        settled.append(_withIds(provider, ids) if ids else provider)
    return settled


def _getDefinitions(provider: BaseProvider) -> dict[str, str]:
    """:return: Zuul's id of each static node -> all that is said of it."""
    if not provider.nodes:
        return {}
    if provider not in _definitions:
        _definitions[provider] = {
            node_id: repr((getIdentity(provider, entry.label), sorted(
                (name, str(value)) for name, value in vars(entry).items())))
            for node_id, entry in provider.nodes.items()}
    return _definitions[provider]


def _withIds(provider: BaseProvider, ids: dict[str, str]) -> BaseProvider:
    """
    :param ids: Zuul's ids of some static nodes -> their other ids.
    :return: a copy of a provider with these ids, always the same object.
    """
    former, view = _views.get(provider, ({}, None))
    if view is None or former != ids:
        nodes = {}
        for node_id, entry in provider.nodes.items():
            other = copy.copy(entry)
            other.node_id = ids.get(node_id, node_id)
            nodes[other.node_id] = other
        view = copy.copy(provider)
        # Zuul allows attributes of records to be set only in order to write.
        vars(view)['nodes'] = nodes
        _views[provider] = ids, view
    return view


# Failures

class Subject(NamedTuple):
    """What a failure of a cloud concerns.

    :ivar provider: canonical name.
    :ivar place: of the provider.
    :ivar identity: of the nodes of a label; None for all of the provider's.
    """
    provider: str
    place: Place
    identity: Identity | None = None

    @property
    def label(self) -> str | None:
        """The name of the label, or None."""
        return self.identity and self.identity.label

    @property
    def whole(self) -> 'Subject':
        """All of the provider's labels."""
        return self._replace(identity=None)

    def __str__(self) -> str:
        name = f'provider {self.provider}'
        return f'label {self.label} at {name}' if self.identity else name


def getSubject(provider: BaseProvider,
               label_name: str | None = None) -> Subject:
    """:return: the Subject of a provider, or of one of its labels."""
    identity = getIdentity(provider, label_name) if label_name else None
    return getSubjectOf(identity) if identity else Subject(
        provider.canonical_name, getPlace(provider))


def getSubjectOf(identity: Identity) -> Subject:
    """:return: the Subject of the label that a node was made from."""
    return Subject(identity.provider, identity.place, identity)


# Accounts

class Account(NamedTuple):
    """What has a limit, in which nodes count.

    :ivar kind: provider, section, endpoint, tenant or label.
    :ivar name: None for an endpoint whose driver can't say.
    :ivar owner: of an endpoint its connection, of a label its tenant; of a
        provider its place and its section, which tenants may resolve
        differently.
    """
    kind: str
    name: str | None
    owner: str = ''

    @property
    def is_tenants(self) -> bool:
        """Whether a tenant has it, at whichever providers."""
        return self.kind in ('label', 'tenant')

    @property
    def width(self) -> int:
        return WIDTHS[self.kind]

    def __str__(self) -> str:
        return f'{self.kind} {getShortName(self.name)}'


# From the narrowest kind of account to the widest.  What a node uses of one
# account of a provider, it uses of the wider ones, too.
WIDTHS = {'label': 0, 'tenant': 0, 'provider': 1, 'section': 2, 'endpoint': 3}


def getAccounts(name: str, place: Place,
                provider: BaseProvider | None) -> tuple[Account, ...]:
    """
    :param name: canonical name of a provider.
    :param place: where a node is.
    :param provider: the object of the tenant that the node counts for; None if
        there is none any more.
    :return: the accounts of all tenants in which the node counts.
    """
    section = provider and getSection(provider)
    where = ' '.join(map(str, (*place, section and section['name'])))
    return (
        Account('provider', name, where),
        Account('endpoint', place[1], place[0]),
        *([Account('section', section['name'])] if section else ()))
