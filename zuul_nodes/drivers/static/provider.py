"""The provider of static nodes, made from the flat configuration."""

import voluptuous as vs
from zuul.driver.static import staticprovider
from zuul.lib.voluputil import Optional, Required, assemble

from zuul_nodes.drivers import OWN, extension
from zuul_nodes.drivers.static.checks import makeChecks
from zuul_nodes.drivers.static.node import (
    IMAGE_ATTRIBUTES,
    StaticNodeConfig,
    acceptNode,
    normalizeNode,
    validateNode,
)
from zuul_nodes.drivers.static.statemachine import (
    StaticCreateStateMachine,
    StaticDeleteStateMachine,
    isUpToDate,
)


class StaticProviderSchema(staticprovider.StaticProviderSchema):

    def getProviderSchema(self, internal=False):
        """
        :param bool internal: whether the schema is for ZooKeeper rather than
            for the configuration.
        """
        return assemble(
            super().getProviderSchema(internal),
            vs.Schema({
                Required(
                    'nodes',
                    doc="""A list of nodes that this provider uses.""",
                ): [acceptNode if internal else validateNode],
                Optional(
                    'include-all-node-labels',
                    doc="""\
                    Whether the provider has all labels of the nodes in
                    its section, so that it need not list them.""",
                    default=False,
                ): bool,
            }))


extension.yieldRecords(staticprovider.StaticProvider)


class StaticProvider(staticprovider.StaticProvider, subclass_id='static'):
    """Zuul's provider of static nodes, with the specification's nodes.

    The record in ZooKeeper has the nodes as configured.  Each reader of the
    record converts them to Zuul's spelling.
    """

    schema = StaticProviderSchema().getProviderSchema()
    internal_schema = StaticProviderSchema().getProviderSchema(internal=True)

    def parseConfig(self, config, connection):
        """
        :param dict config: the flat configuration.
        :return: the provider's attributes, a dict.

        Nodes may be defined "centrally on a section", for providers to
        "include tenant-specific sets of labels" (specification,
        "Configuration"): the provider omits nodes with none of its labels.
        """
        labels = {label['name']: label for label in config['labels']}
        nodes = []
        for entry in config['nodes']:
            node = normalizeNode(entry, labels.keys())
            if node is not None:
                own = labels[node['label']].get(OWN, {}).get('image', {})
                nodes.append({key: own[key] for key in IMAGE_ATTRIBUTES
                              if key in own} | node)
        ret = super().parseConfig({**config, 'nodes': nodes}, connection)
        nodes = ret['nodes'].values()
        for node in nodes:
            node.inheritFromLabel(ret['labels'][node.label])
        ret['nodes'] = {node.node_id: node for node in nodes}
        return ret

    def parseNodeConfig(self, node_config, provider_config, connection):
        return StaticNodeConfig(node_config, provider_config)

    def getCreateStateMachine(self, node, image_external_id, log):
        # The record may have the label of an old definition.
        label = self.labels[self.nodes[node.uuid].label]
        return StaticCreateStateMachine(self, node, label, log)

    def getDeleteStateMachine(self, node, log):
        return StaticDeleteStateMachine(self, node, log)

    def getChecks(self):
        """:return: yields a Check for each node of the configuration."""
        return makeChecks(self)

    def hasNode(self, node):
        """
        :param ProviderNode node: a machine, or a slot of one.
        :return: whether the configuration has that machine.
        """
        return (node.main_node_id or node.uuid) in self.nodes

    def canReuseNode(self, node):
        """
        :param ProviderNode node: a machine, or a slot of one.
        :return: whether the node can be assigned again as it is.

        If the record differs from the configuration, the launcher deletes
        and creates the node, which updates the record.
        """
        if not self.hasNode(node):
            return False
        if node.main_node_id:
            return True
        if node.subnodes:
            # Slots are created together with their machine and stay unchanged
            # while it exists.
            return node.state == node.State.SLOT_HOST
        return isUpToDate(self, node)
