"""Helpers for drivers that extend Zuul's own drivers with attributes.

Zuul's classes of images, flavors, labels and providers have several schemas as
class attributes: for the configuration, for ZooKeeper, and for defaults.
These functions create classes that have the same schemas with more attributes.
"""

from collections.abc import Callable, Mapping
import importlib
import inspect
import sys
from typing import Any, ClassVar, Protocol

import voluptuous as vs
from zuul.connection import BaseConnection
from zuul.driver import Driver as ZuulDriver
from zuul.lib.voluputil import Optional, assemble, discriminate
from zuul.provider import BaseProvider, BaseProviderSchema
from zuul.zk import ZooKeeperClient

from zuul_nodes.drivers.api.addresses import ImageSources
from zuul_nodes.drivers.api.configuration import Attributes
from zuul_nodes.drivers.api.labels import makeView
from zuul_nodes.drivers.framework.capacity import (
    BoundedCreateStateMachine,
    Refusals,
)
from zuul_nodes.drivers.framework.endpoint import EndpointWithAdapter
from zuul_nodes.drivers.framework.provider import ProviderWithAdapter
from zuul_nodes.drivers.framework.providerclasses import (
    setProviderClass,
    yieldRecords,
)
from zuul_nodes.drivers.framework.statemachine import (
    CreateStateMachine,
    DeleteStateMachine,
    Removal,
)

__all__ = [
    'BoundedCreateStateMachine',
    'CreateStateMachine',
    'DeleteStateMachine',
    'EndpointWithAdapter',
    'ExtendedDriver',
    'ProviderWithAdapter',
    'Refusals',
    'Removal',
    'chooseDriver',
    'extendClass',
    'extendImageClass',
    'extendSchema',
    'makeOptional',
    'makeSchemaClass',
    'makeView',
    'setProviderClass',
    'yieldRecords',
]

# Optional attributes in these schemas have no default: the object has it.
_OF_DEFAULTS = 'inheritable_'


def isOfType(value: Mapping[str, Any],
             alternative: Mapping[str, Any]) -> bool:
    """:return: whether an image has the type of a schema."""
    return value['type'] == alternative['type'].validators[0]


def makeOptional(attributes: Attributes) -> Attributes:
    """:return: the attributes for the schema of defaults, all optional."""
    return {
        key if isinstance(key, vs.Optional) else Optional(
            key.schema, default=vs.UNDEFINED, output=key.output, doc=key.doc,
            config=key.config): value
        for key, value in attributes.items()}


def extendSchema(schema: Any, attributes: Attributes) -> Any:
    """Add attributes to a schema.

    :param schema: of voluptuous, for a mapping; may be a union, or have
        conditions.
    :param attributes: attribute -> its schema.
    :return: the schema with the attributes, which replace attributes of the
        same name.
    """
    if isinstance(schema, vs.Union):
        return vs.Union(
            *(extendSchema(each, attributes) for each in schema.validators),
            discriminant=schema.discriminant)
    if isinstance(schema, vs.All):
        first, *conditions = schema.validators
        return vs.All(extendSchema(first, attributes), *conditions)
    kept: Any = vs.Schema({key: value for key, value in schema.schema.items()
                      if key not in attributes}, extra=schema.extra)
    if doc := getattr(schema, 'doc', None):
        kept.doc = doc
    return assemble(kept, vs.Schema(attributes), extra=schema.extra)


def extendClass(base: Any, attributes: Attributes) -> Any:
    """
    :param base: a class of Zuul's, for flavors or labels.
    :param attributes: that its objects have in addition.
    :return: a base class with all attributes.
    """
    inheritable = makeOptional(attributes)
    return type(base.__name__, (base,), {
        name: extendSchema(getattr(base, name), (
            inheritable if name.startswith(_OF_DEFAULTS) else attributes))
        for name in ('schema', 'internal_schema', 'inheritable_schema')})


def extendImageClass(base: Any, cloud: Attributes | None = None,
                     zuul: Attributes | None = None) -> Any:
    """
    :param base: a class of Zuul's, for images.
    :param cloud: additional attributes of images of type ``cloud``,
    :param zuul: and of images of type ``zuul``.
    :return: a base class with all attributes.
    """
    schemas = {}
    for kind, attributes in (('cloud', cloud or {}), ('zuul', zuul or {})):
        for prefix in ('', 'internal_', _OF_DEFAULTS):
            name = f'{prefix}{kind}_schema'
            schemas[name] = extendSchema(getattr(base, name), (
                makeOptional(attributes) if prefix == _OF_DEFAULTS
                else attributes))
    for prefix in ('', 'internal_'):
        schemas[f'{prefix}schema'] = vs.Union(
            schemas[f'{prefix}cloud_schema'],
            schemas[f'{prefix}zuul_schema'],
            discriminant=discriminate(isOfType))
    schemas['inheritable_schema'] = assemble(
        schemas['inheritable_cloud_schema'],
        schemas['inheritable_zuul_schema'])
    return type(base.__name__, (base,), schemas)


def makeSchemaClass(base: Any, image: Any, flavor: Any, label: Any,
                    attributes: Attributes | None = None,
                    doc: str | None = None) -> Any:
    """
    :param base: Zuul's class of all schemas of a provider.
    :param image, flavor, label: the classes of its objects.
    :param attributes: additional attributes of the provider.
    :param doc: documentation of the provider, in place of that of ``base``.
    :return: the class of all schemas of our provider.
    """
    class ProviderSchema(base):
        def getLabelSchema(self, internal: bool = False) -> Any:
            return label.internal_schema if internal else label.schema

        def getImageSchema(self, internal: bool = False) -> Any:
            return image.internal_schema if internal else image.schema

        def getFlavorSchema(self, internal: bool = False) -> Any:
            return flavor.internal_schema if internal else flavor.schema

        def getInheritableLabelSchema(self) -> Any:
            return label.inheritable_schema

        def getInheritableImageSchema(self) -> Any:
            return image.inheritable_schema

        def getInheritableZuulImageSchema(self) -> Any:
            return image.inheritable_zuul_schema

        def getInheritableCloudImageSchema(self) -> Any:
            return image.inheritable_cloud_schema

        def getInheritableFlavorSchema(self) -> Any:
            return flavor.inheritable_schema

        def getZuulImageSchema(self) -> Any:
            return image.zuul_schema

        def getProviderSchema(self, internal: bool = False) -> Any:
            schema = extendSchema(
                super().getProviderSchema(internal), attributes or {})
            if doc:
                schema.doc = doc
            return schema

    return ProviderSchema


class Timings(Protocol):
    """Receives the times of calls: a statsd client."""

    def timing(self, name: str, milliseconds: float, /) -> object:
        ...


class ExtendedDriver:
    """Base class of all our drivers, including those that extend Zuul's.

    :cvar provider_class: the class of its providers.
    :cvar schema_class: the class of all of their schemas.
    :ivar steps_have_threads, statsd, image_sources, require_image_checksums:
        as of :class:`Driver`.
    """

    provider_class: ClassVar[type[BaseProvider]]
    schema_class: ClassVar[type[BaseProviderSchema]]
    steps_have_threads: bool = False
    statsd: Timings | None = None
    image_sources: ImageSources | None = None
    require_image_checksums: bool = False

    def getProvider(self, zk_client: ZooKeeperClient,
                    connection: BaseConnection, tenant_name: str,
                    canonical_name: str, provider_config: Mapping[str, Any],
                    system_id: str) -> BaseProvider:
        return self.provider_class(
            self, zk_client, connection, tenant_name, canonical_name,
            provider_config, system_id)

    def getProviderClass(self) -> type[BaseProvider]:
        return self.provider_class

    @classmethod
    def getEndpointClass(cls) -> Any:
        # Zuul's drivers of clouds define it.
        return cls._endpoint_class  # type: ignore[attr-defined]

    def getProviderSchema(self, internal: bool = False) -> Any:
        return self.schema_class().getProviderSchema(internal)

    def getProviderSchemaClass(self) -> type[BaseProviderSchema]:
        return self.schema_class


def readTimeout(connection: BaseConnection, default: float) -> float:
    """
    :param connection: of zuul.conf.
    :return: its option ``api_timeout``, or the default, in seconds.
    :raises Exception: the option is not a valid time.
    """
    given = connection.connection_config.get('api_timeout', default)
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float('inf'):
        raise Exception(
            f'[connection {connection.connection_name}]: "api_timeout": '
            f'expected a number of seconds greater than 0, not {given!r}')
    return seconds


def chooseDriver(ours: str, zuuls: type[ZuulDriver]) -> type[ZuulDriver]:
    """Load a driver that extends one of Zuul's, or fall back to Zuul's.

    It falls back if the cloud's library is missing or incompatible, or if a
    class of Zuul's has changed in a way that the driver does not support.  It
    then prints the reason to standard error.

    :param ours: the class, in the syntax of entry points.
    :param zuuls: Zuul's class.
    :return: one of both.
    """
    module, _, name = ours.partition(':')
    try:
        chosen = getattr(importlib.import_module(module), name)
        for cls in (chosen, chosen.provider_class,
                    chosen.getEndpointClass()):
            checkOverrides(cls)
    except Exception as error:
        print(f'zuul-nodes: using the driver "{zuuls.name}" of Zuul, without '
              f'the additions of zuul-nodes: {ours}: '
              f'{type(error).__name__}: {error}', file=sys.stderr)
        # Our class may have been registered already.
        setProviderClass(zuuls.name, zuuls().getProviderClass())
        return zuuls
    return chosen


def checkOverrides(cls: type) -> None:
    """
    :raises TypeError: a method has other parameters than the method of Zuul
        that it overrides.
    """
    zuuls = [each for each in cls.__mro__
             if each.__module__.startswith('zuul.')]
    for each in cls.__mro__:
        if each in zuuls or not each.__module__.startswith('zuul_nodes.'):
            continue
        for name, method in vars(each).items():
            if not inspect.isfunction(method) or name == '__init__':
                continue
            original = next((vars(zuul)[name] for zuul in zuuls
                             if name in vars(zuul)), None)
            if inspect.isfunction(original):
                _compare(method, original)


def _compare(method: Callable[..., Any], original: Callable[..., Any]) -> None:
    signature, expected = map(inspect.signature, (method, original))
    if list(signature.parameters) != list(expected.parameters):
        raise TypeError(
            f'{original.__module__}.{original.__qualname__} takes '
            f'{expected}, but {method.__qualname__} takes {signature}')
