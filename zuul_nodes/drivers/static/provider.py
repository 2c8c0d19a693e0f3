"""The provider of static nodes: what the flat configuration comes to."""

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
        :param bool internal: the schema for what is in ZooKeeper, as
            opposed to what people write.
        """
        return assemble(
            super().getProviderSchema(internal),
            vs.Schema({
                Required(
                    'nodes',
                    doc="""A list of nodes to be used by this provider.""",
                ): [acceptNode if internal else validateNode],
                Optional(
                    'include-all-node-labels',
                    doc="""\
                    Whether the provider has all labels of the nodes in
                    its section, without a list of them.""",
                    default=False,
                ): bool,
            }))


extension.yieldRecords(staticprovider.StaticProvider)


class StaticProvider(staticprovider.StaticProvider, subclass_id='static'):
    """Zuul's provider of static nodes, with the specification's nodes.

    The record in ZooKeeper has the nodes as they were written; they are
    brought to Zuul's spelling wherever it is read.
    """

    schema = StaticProviderSchema().getProviderSchema()
    internal_schema = StaticProviderSchema().getProviderSchema(internal=True)

    def parseConfig(self, config, connection):
        """
        :param dict config: the flat configuration.
        :return: the provider's attributes, a dict.

        Nodes may be defined "centrally on a section", for providers to
        "include tenant-specific sets of labels" (specification,
        "Configuration"): nodes with none of them are left out.
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
        # Not by the label in the record, which may be that of old.
        label = self.labels[self.nodes[node.uuid].label]
        return StaticCreateStateMachine(self, node, label, log)

    def getDeleteStateMachine(self, node, log):
        return StaticDeleteStateMachine(self, node, log)

    def getChecks(self):
        """:return: yields a Check for all that the configuration names."""
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
        :return: whether it can be given out again as it is.

        If the configuration says something else than the record by now,
        it goes through deletion and creation, and so gets up to date.
        """
        if not self.hasNode(node):
            return False
        if node.main_node_id:
            return True
        if node.subnodes:
            # Slots are created with their machine only: as long as that
            # stands, they stay as they are.
            return node.state == node.State.SLOT_HOST
        return isUpToDate(self, node)
