"""The flavor: how large a node is, whatever the clouds call that."""

from zuul import model
import zuul.configloader

from zuul_nodes.configloader.objects.attributes import (
    WithAttributes,
    openSchema,
    parse,
)


class Flavor(WithAttributes, model.Flavor):
    pass


class FlavorParser(zuul.configloader.FlavorParser):

    schema = openSchema(zuul.configloader.FlavorParser.schema)

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza; it is relieved of what Zuul can't show.
        :return: a :class:`Flavor`.
        """
        return parse(Flavor, self, super().fromYaml, conf)
