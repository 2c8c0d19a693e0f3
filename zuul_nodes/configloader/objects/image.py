"""The image: what a node boots from, built by Zuul or provided by a cloud."""

from zuul import model
import zuul.configloader

from zuul_nodes.configloader.objects.attributes import (
    WithAttributes,
    openSchema,
    parse,
)


class Image(WithAttributes, model.Image):
    pass


class ImageParser(zuul.configloader.ImageParser):

    schema = openSchema(zuul.configloader.ImageParser.schema)

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza.  Values that Zuul cannot show in an
            error are removed from it.
        :return: an :class:`Image`.
        """
        return parse(Image, self, super().fromYaml, conf)
