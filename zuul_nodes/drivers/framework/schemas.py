"""Zuul's classes and schemas, made of what a driver declares."""

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
    doc="""The zone where the nodes are.  If nothing is said, it is one
    that has room.""",
): Nullable(str)}
CONSOLE_LOG: Attributes = {Optional(
    'console-log',
    doc="""Whether the log of the launcher has what a node has written to
    its console, if it does not come up.""",
    default=False,
): bool}
RESOURCE_LIMITS: Attributes = {Optional(
    'resource-limits',
    doc="""How much this provider uses at most: resource -> number, such
    as ``instances``, ``cores`` and ``ram`` (MiB).""",
    default={},
): {str: vs.Any(int, float)}}
# What labels have for what a cloud can do.
OF_ABILITIES = {Ability.ZONES: ZONE, Ability.CONSOLE: CONSOLE_LOG}


def makeImageClass(driver_class: 'type[Driver]') -> type[BaseProviderImage]:
    """:return: a class for the images of a driver's providers."""
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
        doc='The format of the image that is uploaded or imported.',
        default=formats[0],
    ): vs.Any(*(Constant(each, doc=each) for each in formats))}


def makeFlavorClass(driver_class: 'type[Driver]') -> type[BaseProviderFlavor]:
    """:return: a class for the flavors of a driver's providers."""
    return extendClass(BaseProviderFlavor, driver_class.flavor_attributes)


def makeLabelClass(driver_class: 'type[Driver]') -> type[BaseProviderLabel]:
    """:return: a class for the labels of a driver's providers."""
    of_abilities = [
        attributes for ability, attributes in OF_ABILITIES.items()
        if ability in driver_class.adapter_class.abilities]
    return extendClass(BaseProviderLabel, functools.reduce(operator.or_, [
        provider_schema.host_key_checking.schema, *of_abilities,
        driver_class.label_attributes]))


def makeSchemaClass(driver_class: 'type[Driver]') -> type[BaseProviderSchema]:
    """:return: Zuul's class of all schemas of a driver's provider."""
    return extension.makeSchemaClass(
        BaseProviderSchema, driver_class.image_class,
        driver_class.flavor_class, driver_class.label_class,
        {**RESOURCE_LIMITS, **driver_class.provider_attributes},
        doc=driver_class.__doc__)
