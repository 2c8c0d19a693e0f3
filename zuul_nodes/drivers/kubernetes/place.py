"""The namespace and the pod of a node, derived from its record."""

import dataclasses

from zuul_nodes.drivers.kubernetes.podspec import makeSpec


@dataclasses.dataclass(frozen=True)
class Place:
    """The location of a node in the cluster.

    :ivar str namespace:
    :ivar str pod: its name; None if the node is the namespace.
    :ivar bool is_own: whether the namespace exists for the node alone.
    """

    namespace: str
    pod: str | None
    is_own: bool

    @property
    def thing(self):
        """The kind of the object that is created first."""
        return 'namespace' if self.is_own else 'pod'


def findPlace(node, label):
    """
    :param ProviderNode node:
    :param label: its label, or None if it does not exist any more.
    :return: its :class:`Place`; the recorded one, if there is one.
    """
    if place := node.create_state.get('place'):
        return Place(**place)
    if namespace := node.kubernetes_namespace_id:
        # Zuul's own driver has created the node.
        return Place(namespace, node.kubernetes_connection.get('pod'), True)
    # The same name as in Zuul's own driver.
    name = f'np{node.uuid[:13]}'
    shared = getattr(label, 'namespace', None)
    has_pod = getattr(label, 'kind', 'pod') == 'pod'
    return Place(shared or name, name if has_pod else None, not shared)


def findContainer(node, label):
    """
    :param ProviderNode node:
    :param label: its label, of a pod.
    :return: the name of the container that jobs use; the recorded one, if
        there is one.  The cluster may have added containers before it.
    """
    recorded = (node.kubernetes_connection or {}).get('containers')
    return recorded[0] if recorded else getContainers(label)[0]


def getContainers(label):
    """:return: a list of the names of the containers of a label."""
    return [container['name'] for container in makeSpec(label)['containers']]
