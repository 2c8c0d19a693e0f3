"""The label: what jobs request, an image and a flavor under one name."""

import voluptuous as vs
from zuul import model
import zuul.configloader

from zuul_nodes.configloader.errors import (
    UnknownNameError,
    describe,
    explainUnknown,
)
from zuul_nodes.configloader.objects.attributes import (
    WithAttributes,
    openSchema,
    parse,
)


class Label(WithAttributes, model.Label):

    def validateReferences(self, layout):
        """Check that the image, the flavor and the aliases exist.

        :raises UnknownNameError: the tenant has no object of that name.
        """
        for kind, names, objects in (
                ('image', [self.image], layout.images),
                ('flavor', [self.flavor], layout.flavors),
                ('label', self.aliases, layout.labels)):
            for name in names:
                # Static nodes need neither image nor flavor.
                if name is not None and name not in objects:
                    raise UnknownNameError(explainUnknown(
                        f'The {describe(self)}', kind, name, objects))


class LabelParser(zuul.configloader.LabelParser):

    schema = openSchema(
        vs.Schema({key: value for key, value
                   in zuul.configloader.LabelParser.schema.schema.items()
                   if key not in ('image', 'flavor')}),
        {'image': vs.Any(None, str), 'flavor': vs.Any(None, str)})

    def fromYaml(self, conf):
        """
        :param dict conf: the stanza.  Values that Zuul cannot show in an
            error are removed from it.
        :return: a :class:`Label`.
        """
        label = parse(Label, self, self._fromYaml, conf)
        if 'aliases' in label.attributes:
            # Zuul accepts a single alias without a list.
            label.attributes['aliases'] = label.aliases
        return label

    def _fromYaml(self, conf):
        # Zuul's parser requires both keys.
        return super().fromYaml({'image': None, 'flavor': None} | conf)
