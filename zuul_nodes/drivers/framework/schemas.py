"""Creates Zuul's classes and schemas from the declarations of a driver."""

from collections.abc import Mapping
import functools
import operator
from typing import TYPE_CHECKING, Any

import voluptuous as vs
from zuul.lib.voluputil import Constant, Nullable, Optional
from zuul.provider import (
    BaseProviderFlavor,
    BaseProviderImage,
    BaseProviderLabel,
    BaseProviderSchema,
)
from zuul.provider import schema as provider_schema

from zuul_nodes.drivers.api.adapter import Adapter
from zuul_nodes.drivers.api.configuration import Attributes
from zuul_nodes.drivers.api.model import MAKING_IMAGES, Ability
from zuul_nodes.drivers.framework import extension
from zuul_nodes.drivers.framework.extension import (
    extendClass,
    extendImageClass,
)

if TYPE_CHECKING:
    from zuul_nodes.drivers.framework.driver import Driver

ZONE: Attributes = {Optional(
    'az',
    doc="""The zone of the nodes.  By default, a zone with enough capacity.""",
): Nullable(str)}
CONSOLE_LOG: Attributes = {Optional(
    'console-log',
    doc="""Whether to write the console output of a node to the launcher's log
    if the node does not boot.""",
    default=False,
): bool}
RESOURCE_LIMITS: Attributes = {Optional(
    'resource-limits',
    doc="""Maximum usage of this provider: resource -> number, such as
    ``instances``, ``cores`` and ``ram`` (MiB).""",
    default={},
): {str: vs.Any(int, float)}}
# Ability -> additional attributes of labels.
OF_ABILITIES = {Ability.ZONES: ZONE, Ability.CONSOLE: CONSOLE_LOG}


def makeImageClass(driver_class: 'type[Driver]') -> type[BaseProviderImage]:
    """:return: the class of the images of a driver's providers."""
    both = driver_class.image_attributes
    base: Any = extendImageClass(
        BaseProviderImage,
        cloud={**both, **driver_class.cloud_image_attributes},
        zuul={**both, **driver_class.zuul_image_attributes,
              **_makeFormat(driver_class.adapter_class)})

    class Image(base):
        if not driver_class.adapter_class.abilities & MAKING_IMAGES:
            schema = base.cloud_schema
            internal_schema = base.internal_cloud_schema

        connection_type: str | None
        username: str | None

        def __init__(self, image_config: Mapping[str, Any],
                     provider_config: Mapping[str, Any]) -> None:
            super().__init__(image_config, provider_config)
            self.format = getattr(self, 'image_format', None)
            self.connection_type = self.connection_type or 'ssh'
            self.username = self.username or driver_class.default_username

    return Image


def _makeFormat(adapter_class: type[Adapter]) -> Attributes:
    formats = adapter_class.image_formats
    return {Optional(
        'image-format',
        doc='The format in which the image is uploaded or imported.',
        default=formats[0],
    ): vs.Any(*(Constant(each, doc=each) for each in formats))}


def makeFlavorClass(driver_class: 'type[Driver]') -> type[BaseProviderFlavor]:
    """:return: the class of the flavors of a driver's providers."""
    return extendClass(BaseProviderFlavor, driver_class.flavor_attributes)


def makeLabelClass(driver_class: 'type[Driver]') -> type[BaseProviderLabel]:
    """:return: the class of the labels of a driver's providers."""
    of_abilities = [
        attributes for ability, attributes in OF_ABILITIES.items()
        if ability in driver_class.adapter_class.abilities]
    return extendClass(BaseProviderLabel, functools.reduce(operator.or_, [
        provider_schema.host_key_checking.schema, *of_abilities,
        driver_class.label_attributes]))


def makeSchemaClass(driver_class: 'type[Driver]') -> type[BaseProviderSchema]:
    """:return: the class of all schemas of a driver's providers."""
    return extension.makeSchemaClass(
        BaseProviderSchema, driver_class.image_class,
        driver_class.flavor_class, driver_class.label_class,
        {**RESOURCE_LIMITS, **driver_class.provider_attributes},
        doc=driver_class.__doc__)
