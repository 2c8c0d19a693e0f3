"""Zuul's classes and schemas, made of what a driver declares."""

import voluptuous as vs
from zuul.lib.voluputil import (
    Constant,
    Nullable,
    Optional,
    assemble,
    discriminate,
)
from zuul.provider import (
    BaseProviderFlavor,
    BaseProviderImage,
    BaseProviderLabel,
    BaseProviderSchema,
)
from zuul.provider import schema as provider_schema

from zuul_nodes.drivers.api.model import MAKING_IMAGES, Ability

ZONE = vs.Schema({Optional(
    'az',
    doc="""The zone where the nodes are.  If nothing is said, it is one
    that has room.""",
): Nullable(str)})
CONSOLE_LOG = vs.Schema({Optional(
    'console-log',
    doc="""Whether the log of the launcher has what a node has written to
    its console, if it does not come up.""",
    default=False,
): bool})
RESOURCE_LIMITS = vs.Schema({Optional(
    'resource-limits',
    doc="""How much this provider uses at most: resource -> number, such
    as ``instances``, ``cores`` and ``ram`` (MiB).""",
    default={},
): {str: vs.Any(int, float)}})
# What labels have for what a cloud can do.
OF_ABILITIES = {Ability.ZONES: ZONE, Ability.CONSOLE: CONSOLE_LOG}


def _isOfType(value, alternative):
    return value['type'] == alternative['type'].validators[0]


def makeImageClass(driver_class):
    """:return: a class for the images of a driver's providers."""
    both = vs.Schema(driver_class.image_attributes)
    cloud = assemble(both, vs.Schema(driver_class.cloud_image_attributes))
    zuul = assemble(both, vs.Schema(driver_class.zuul_image_attributes),
                    _makeFormat(driver_class.adapter_class))

    class Image(BaseProviderImage):
        inheritable_cloud_schema = assemble(
            BaseProviderImage.inheritable_cloud_schema,
            _makeOptional(cloud))
        inheritable_zuul_schema = assemble(
            BaseProviderImage.inheritable_zuul_schema,
            _makeOptional(zuul))
        cloud_schema = assemble(BaseProviderImage.cloud_schema, cloud)
        zuul_schema = assemble(BaseProviderImage.zuul_schema, zuul)
        internal_cloud_schema = assemble(
            cloud_schema, provider_schema.internal_base_image,
            extra=vs.ALLOW_EXTRA)
        internal_zuul_schema = assemble(
            zuul_schema, provider_schema.internal_base_image,
            extra=vs.ALLOW_EXTRA)
        if driver_class.adapter_class.abilities & MAKING_IMAGES:
            schema = vs.Union(cloud_schema, zuul_schema,
                              discriminant=discriminate(_isOfType))
            internal_schema = vs.Union(
                internal_cloud_schema, internal_zuul_schema,
                discriminant=discriminate(_isOfType))
        else:
            schema, internal_schema = cloud_schema, internal_cloud_schema
        inheritable_schema = assemble(
            inheritable_cloud_schema, inheritable_zuul_schema)

        def __init__(self, image_config, provider_config):
            super().__init__(image_config, provider_config)
            self.format = getattr(self, 'image_format', None)
            self.connection_type = self.connection_type or 'ssh'
            self.username = self.username or driver_class.default_username

    return Image


def _makeFormat(adapter_class):
    formats = adapter_class.image_formats
    return vs.Schema({Optional(
        'image-format',
        doc='The format of the image that is uploaded or imported.',
        default=formats[0],
    ): vs.Any(*(Constant(each, doc=each) for each in formats))})


def makeFlavorClass(driver_class):
    """:return: a class for the flavors of a driver's providers."""
    return _makeClass(
        BaseProviderFlavor, provider_schema.internal_base_flavor,
        vs.Schema(driver_class.flavor_attributes))


def makeLabelClass(driver_class):
    """:return: a class for the labels of a driver's providers."""
    return _makeClass(
        BaseProviderLabel, provider_schema.internal_base_label, assemble(
            provider_schema.host_key_checking,
            *(schema for ability, schema in OF_ABILITIES.items()
              if ability in driver_class.adapter_class.abilities),
            vs.Schema(driver_class.label_attributes)))


def _makeClass(base, internal, own):
    """
    :param base: Zuul's class.
    :param internal: what its objects have in ZooKeeper besides.
    :param own: what the driver declares.
    """
    class Configured(base):
        inheritable_schema = assemble(
            base.inheritable_schema, _makeOptional(own))
        schema = assemble(base.schema, own)
        internal_schema = assemble(schema, internal, extra=vs.ALLOW_EXTRA)

    return Configured


def makeSchemaClass(driver_class):
    """:return: Zuul's class of all schemas of a driver's provider."""
    image, flavor, label = (
        driver_class.image_class, driver_class.flavor_class,
        driver_class.label_class)
    provider = assemble(
        RESOURCE_LIMITS, vs.Schema(driver_class.provider_attributes))

    class ProviderSchema(BaseProviderSchema):
        def getLabelSchema(self, internal=False):
            return label.internal_schema if internal else label.schema

        def getImageSchema(self, internal=False):
            return image.internal_schema if internal else image.schema

        def getFlavorSchema(self, internal=False):
            return flavor.internal_schema if internal else flavor.schema

        def getInheritableLabelSchema(self):
            return label.inheritable_schema

        def getInheritableImageSchema(self):
            return image.inheritable_schema

        def getInheritableZuulImageSchema(self):
            return image.inheritable_zuul_schema

        def getInheritableCloudImageSchema(self):
            return image.inheritable_cloud_schema

        def getInheritableFlavorSchema(self):
            return flavor.inheritable_schema

        def getZuulImageSchema(self):
            return image.zuul_schema

        def getProviderSchema(self, internal=False):
            return assemble(super().getProviderSchema(internal), provider,
                            doc=driver_class.__doc__)

    return ProviderSchema


def _makeOptional(schema):
    """:return: the same for defaults, which have what they like of it."""
    return vs.Schema({
        key if isinstance(key, vs.Optional) else Optional(
            key.schema, default=vs.UNDEFINED, output=key.output, doc=key.doc,
            config=key.config): value
        for key, value in schema.schema.items()})
