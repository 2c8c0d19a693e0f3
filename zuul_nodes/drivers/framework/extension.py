"""What our drivers add to drivers of Zuul: attributes, in its own classes.

Zuul's classes of images, flavors, labels and providers have schemas as
attributes of the class, in several forms: what people write, what is in
ZooKeeper, what defaults may have.  A class of ours has them all again, with
ours among them.
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
from zuul_nodes.drivers.framework.listing import BLIND
from zuul_nodes.drivers.framework.provider import ProviderWithAdapter
from zuul_nodes.drivers.framework.providerclasses import (
    setProviderClass,
    yieldRecords,
)
from zuul_nodes.drivers.framework.statemachine import (
    APPEARANCE,
    CreateStateMachine,
    DeleteStateMachine,
    Removal,
)

__all__ = [
    'APPEARANCE',
    'BLIND',
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

# Of these, what may be left out has no default: it is that of the object.
_OF_DEFAULTS = 'inheritable_'


def isOfType(value: Mapping[str, Any],
             alternative: Mapping[str, Any]) -> bool:
    """:return: whether an image is of the type that a schema is for."""
    return value['type'] == alternative['type'].validators[0]


def makeOptional(attributes: Attributes) -> Attributes:
    """:return: the same for defaults, which have what they like of it."""
    return {
        key if isinstance(key, vs.Optional) else Optional(
            key.schema, default=vs.UNDEFINED, output=key.output, doc=key.doc,
            config=key.config): value
        for key, value in attributes.items()}


def extendSchema(schema: Any, attributes: Attributes) -> Any:
    """
    :param schema: of voluptuous, for a mapping; also one of several, or one
        with conditions.
    :param attributes: attribute -> what it may be.
    :return: the same with the attributes, which take the place of others
        of their names.
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
    :param attributes: what its objects have besides.
    :return: a class to derive one's own of.
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
    :param cloud: what images of type ``cloud`` have besides,
    :param zuul: and those of type ``zuul``.
    :return: a class to derive one's own of.
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
    :param attributes: what the provider has besides.
    :param doc: what is said of the provider, if not by ``base``.
    :return: the class of all schemas of ours.
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
    """What is told how long calls take: a statsd client."""

    def timing(self, name: str, milliseconds: float, /) -> object:
        ...


class ExtendedDriver:
    """What a driver of ours has, whether it extends one of Zuul's or not.

    :cvar provider_class: of its providers.
    :cvar schema_class: of all of their schemas.
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
        # Zuul's drivers of clouds have it.
        return cls._endpoint_class  # type: ignore[attr-defined]

    def getProviderSchema(self, internal: bool = False) -> Any:
        return self.schema_class().getProviderSchema(internal)

    def getProviderSchemaClass(self) -> type[BaseProviderSchema]:
        return self.schema_class


def readTimeout(connection: BaseConnection, default: float) -> float:
    """
    :param connection: of zuul.conf.
    :return: its option ``api_timeout``, or the default: seconds.
    :raises Exception: that is no time.
    """
    given = connection.connection_config.get('api_timeout', default)
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float('inf'):
        raise Exception(
            f'[connection {connection.connection_name}]: "api_timeout": '
            f'expected seconds, more than 0, and not {given!r}')
    return seconds


def chooseDriver(ours: str, zuuls: type[ZuulDriver]) -> type[ZuulDriver]:
    """Load a driver that extends one of Zuul's, if it can be used.

    It can not if its cloud's library is not there or not as it should be,
    or if a class of Zuul's is not as the driver knows it.  Then standard
    error has a line that says so.

    :param ours: the class, as an entry point has it.
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
        print(f'zuul-nodes: the driver "{zuuls.name}" is that of Zuul, '
              f'without what zuul-nodes adds to it: {ours}: '
              f'{type(error).__name__}: {error}', file=sys.stderr)
        # A class of ours may have been made already.
        setProviderClass(zuuls.name, zuuls().getProviderClass())
        return zuuls
    return chosen


def checkOverrides(cls: type) -> None:
    """
    :raises TypeError: Zuul would call a method of a class by other
        arguments than it takes.
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
            f'{expected}, and {method.__qualname__} takes {signature}')
