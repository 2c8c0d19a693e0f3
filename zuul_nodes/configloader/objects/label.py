"""The label: what jobs ask for, an image and a flavor by one name."""

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
        """Check the names of image, flavor and aliases.

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
        :param dict conf: the stanza; it is relieved of what Zuul can't show.
        :return: a :class:`Label`.
        """
        label = parse(Label, self, self._fromYaml, conf)
        if 'aliases' in label.attributes:
            # One may be given without a list.
            label.attributes['aliases'] = label.aliases
        return label

    def _fromYaml(self, conf):
        # Zuul's parser takes them for granted.
        return super().fromYaml({'image': None, 'flavor': None} | conf)
