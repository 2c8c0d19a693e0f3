"""The creation and deletion of nodes that are there already.

Creating one is to write into its record what the configuration says.
Deleting one is to leave that to the next creation, if the configuration
has it still.
"""

import socket

from zuul.driver.static import staticendpoint, staticmodel

from zuul_nodes.drivers import addresses, getNodeAttributes, getNodeTags

# What a node's record has from the node's configuration, by way of the
# instance and else,
INSTANCE_ATTRIBUTES = ('username', 'connection_type', 'connection_port',
                       'python_path', 'shell_type')
NODE_ATTRIBUTES = ('boot_timeout', 'host_key_checking')
# and from its label.
LABEL_ATTRIBUTES = ('max_ready_age', 'max_age', 'min_retention_time',
                    'snapshot_timeout', 'snapshot_expiration',
                    'executor_zone', 'reuse')


class StaticInstance(staticmodel.StaticInstance):
    """What is known of a machine before anybody has connected to it.

    :param StaticNodeConfig node_config: its configuration.
    :param QuotaInformation quota: what it takes.
    """

    def __init__(self, node_config, quota):
        super().__init__(node_config, quota)
        for name in INSTANCE_ATTRIBUTES:
            setattr(self, name, getattr(node_config, name))
        # Also if there are none: the record may have those of old.
        self.host_keys = list(node_config.host_keys)


def findAddress(host):
    """Look a name up, which may take its time.

    :return: the address by which the machine can be told from others, the
        first in their order if there are several; None for what is an
        address itself, or if there is none.
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
    """Ends with a node to be created again, or with nothing.

    A node that had an error waits before it is tried again; one that is
    to be renewed does not.
    """

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log)
        self.provider = provider
        # A node that can't be given out as it is can still be created.
        self.reuse = provider.hasNode(node)
        # It keeps this state until the end.
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
        # The launcher looks for the image of the node's label before it
        # asks for the state machine that creates the node.
        _updateFromLabel(self.provider, self.node)
        # A new life: or else a node older than max-age would end at once,
        # again and again, and the next error would not have to wait.
        self.node.request_time = self.node.state_time
        # It says why the last one has ended.
        self.node.comment = None
        self.node.create_state_machine = None
        self.node.create_state = {}
        self.node.delete_state = {}


def isUpToDate(provider, node):
    """
    :param StaticProvider provider: that has the node.
    :param ProviderNode node: a machine.
    :return: whether its record says what creation would put there.
    """
    node_config = provider.nodes[node.uuid]
    wanted = _getLabelAttributes(provider, node_config)
    # The order is Zuul's, which is none.
    aliases = wanted.pop('label_aliases')
    return (node_config.isCurrent(node)
            and set(node.label_aliases) == set(aliases)
            and all(getattr(node, name) == value
                    for name, value in wanted.items()))


def _updateFromLabel(provider, node):
    """Put into a node's record what is not a matter of its instance.

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
