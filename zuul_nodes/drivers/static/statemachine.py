"""State machines that create and delete static nodes, which exist already.

Creation writes the configuration into a node's record.  Deletion leaves the
record for the next creation if the node is still configured.
"""

import socket

from zuul.driver.static import staticendpoint, staticmodel

from zuul_nodes.drivers import addresses, getNodeAttributes, getNodeTags

# Attributes of a node's record: from the node's configuration by way of the
# instance,
INSTANCE_ATTRIBUTES = ('username', 'connection_type', 'connection_port',
                       'python_path', 'shell_type')
# from the node's configuration directly,
NODE_ATTRIBUTES = ('boot_timeout', 'host_key_checking')
# and from its label.
LABEL_ATTRIBUTES = ('max_ready_age', 'max_age', 'min_retention_time',
                    'snapshot_timeout', 'snapshot_expiration',
                    'executor_zone', 'reuse')


class StaticInstance(staticmodel.StaticInstance):
    """The known attributes of a machine before the launcher connects to it.

    :param StaticNodeConfig node_config: its configuration.
    :param QuotaInformation quota: the resources that it uses.
    """

    def __init__(self, node_config, quota):
        super().__init__(node_config, quota)
        for name in INSTANCE_ATTRIBUTES:
            setattr(self, name, getattr(node_config, name))
        # Set an empty list too: the record may have keys of an old definition.
        self.host_keys = list(node_config.host_keys)


def findAddress(host):
    """Look up a host name, which may take long.

    :return: an address that identifies the machine, the first in their order
        if there are several; None for an IP address, or if the name has no
        address.
    """
    if addresses.readAddress(host):
        return None
    try:
        return min(info[4][0] for info in socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return None


class StaticCreateStateMachine(staticendpoint.StaticCreateStateMachine):

    def __init__(self, provider, node, label, log):
        super().__init__(provider, node, label, log)
        _updateFromLabel(provider, node)
        instance = StaticInstance(
            provider.nodes[node.uuid], provider.getQuotaForLabel(label))
        if provider.driver.steps_have_threads:
            instance.host_id = findAddress(instance.interface_ip)
        node.updateFromInstance(instance)


class StaticDeleteStateMachine(staticendpoint.StaticDeleteStateMachine):
    """Resets a node so that it can be created again, or deletes its record.

    A node with an error waits before it is retried; a node with a changed
    definition does not.
    """

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log)
        self.provider = provider
        # A node that cannot be reused as it is can still be created again.
        self.reuse = provider.hasNode(node)
        # The node keeps this state until the end.
        self.failed = node.state in node.FAILED_STATES

    def advance(self):
        if self.failed:
            super().advance()
        else:
            self.fail()

    def fail(self):
        super().fail()
        if not self.reuse:
            return
        # The launcher looks up the image of the node's label before it asks
        # for the state machine that creates the node.
        _updateFromLabel(self.provider, self.node)
        # Reset the age: otherwise a node older than max-age would end at once,
        # again and again, and the next error would not have to wait.
        self.node.request_time = self.node.state_time
        # It has the reason of the last failure.
        self.node.comment = None
        self.node.create_state_machine = None
        self.node.create_state = {}
        self.node.delete_state = {}


def isUpToDate(provider, node):
    """
    :param StaticProvider provider: that has the node.
    :param ProviderNode node: a machine.
    :return: whether its record is as creation would write it.
    """
    node_config = provider.nodes[node.uuid]
    wanted = _getLabelAttributes(provider, node_config)
    # Zuul stores aliases in no particular order.
    aliases = wanted.pop('label_aliases')
    return (node_config.isCurrent(node)
            and set(node.label_aliases) == set(aliases)
            and all(getattr(node, name) == value
                    for name, value in wanted.items()))


def _updateFromLabel(provider, node):
    """Write those attributes to a node's record that the instance lacks.

    :param ProviderNode node: a machine or a slot, with an active context.
    """
    node_config = provider.nodes[node.main_node_id or node.uuid]
    for name, value in _getLabelAttributes(provider, node_config).items():
        setattr(node, name, value)
    node.tags = getNodeTags(
        provider, provider.system_id, provider.labels[node.label], node.uuid)


def _getLabelAttributes(provider, node_config):
    label = provider.labels[node_config.label]
    return {
        'label': label.name,
        'label_config_hash': label.config_hash,
        'node_properties': getNodeAttributes(label),
        'label_aliases': sorted({*node_config.aliases, *label.aliases}),
        **{name: getattr(label, name) for name in LABEL_ATTRIBUTES},
        **{name: getattr(node_config, name) for name in NODE_ATTRIBUTES},
    }
