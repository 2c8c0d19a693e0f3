"""The flavor: the size of a node, independent of the cloud."""

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
        :param dict conf: the stanza.  Values that Zuul cannot show in an
            error are removed from it.
        :return: a :class:`Flavor`.
        """
        return parse(Flavor, self, super().fromYaml, conf)
