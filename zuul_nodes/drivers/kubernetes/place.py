"""Where a node is in the cluster, by names that follow from its record."""

import dataclasses

from zuul_nodes.drivers.kubernetes.podspec import makeSpec


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a node is.

    :ivar str namespace:
    :ivar str pod: its name; None if the node is the namespace.
    :ivar bool is_own: whether the namespace is there for the node alone.
    """

    namespace: str
    pod: str | None
    is_own: bool

    @property
    def thing(self):
        """What there would be of the node if there were only one call."""
        return 'namespace' if self.is_own else 'pod'


def findPlace(node, label):
    """
    :param ProviderNode node:
    :param label: its label, or None if there is no such any more.
    :return: its :class:`Place`; as recorded, if it is.
    """
    if place := node.create_state.get('place'):
        return Place(**place)
    if namespace := node.kubernetes_namespace_id:
        # Zuul's own driver has made it.
        return Place(namespace, node.kubernetes_connection.get('pod'), True)
    # As Zuul's own driver has it.
    name = f'np{node.uuid[:13]}'
    shared = getattr(label, 'namespace', None)
    has_pod = getattr(label, 'kind', 'pod') == 'pod'
    return Place(shared or name, name if has_pod else None, not shared)


def findContainer(node, label):
    """
    :param ProviderNode node:
    :param label: its label, of a pod.
    :return: the name of the container that jobs use; as recorded, if it is.
        The pod may have others before it, for clusters add their own.
    """
    recorded = (node.kubernetes_connection or {}).get('containers')
    return recorded[0] if recorded else getContainers(label)[0]


def getContainers(label):
    """:return: the names of the containers of a label, a list."""
    return [container['name'] for container in makeSpec(label)['containers']]
