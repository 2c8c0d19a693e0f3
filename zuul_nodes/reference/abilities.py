"""The abilities of clouds, as their drivers declare them."""

import dataclasses

from zuul.provider import BaseProvider

from zuul_nodes.drivers import Ability
from zuul_nodes.plugin.extensions import getEndpointClass
from zuul_nodes.reference.attributes import describe, getZuuls

NOT = '\N{EN DASH}'
# Clouds with these can leak images and, with the last one, other resources.
LEAKING = {Ability.IMAGES, Ability.IMPORT, Ability.COPY, Ability.SNAPSHOTS,
           Ability.RESOURCES}


@dataclasses.dataclass
class Column:
    """A column of the table: one ability.

    :ivar str title:
    :ivar set abilities: an adapter with any of these has the ability.
    :ivar str method: a provider with this method has it.
    :ivar str attribute: a driver whose labels have this attribute has it.
    """
    title: str
    abilities: set
    method: str = None
    attribute: str = None


COLUMNS = [
    Column('upload', {Ability.IMAGES}, 'getImageUploadJob'),
    Column('import', {Ability.IMPORT}, 'getImageImportJob'),
    Column('copy', {Ability.COPY}, 'getImageCopyJob'),
    Column('snapshots', {Ability.SNAPSHOTS}, 'getSnapshotStateMachine'),
    Column('zones', {Ability.ZONES}, attribute='az'),
    Column('console log', {Ability.CONSOLE}, attribute='console-log'),
    Column('quota', {Ability.LIMITS}, 'getEndpointLimits'),
    Column('other leaks', LEAKING),
    Column('checks', set(Ability), 'getChecks'),
]


def getRow(driver_class):
    """
    :return: a list: for each of :data:`COLUMNS`, "Zuul's", "ours", or a dash
        if the driver does not have the ability.
    """
    zuuls = getZuuls(driver_class)
    return ["Zuul's" if zuuls and hasAbility(zuuls, column)
            else 'ours' if hasAbility(driver_class, column) else NOT
            for column in COLUMNS]


def hasAbility(driver_class, column):
    """
    :param driver_class: a driver class of zuul-nodes or of Zuul.
    :param Column column:
    :return: whether the driver has the ability.
    """
    if adapter_class := getattr(driver_class, 'adapter_class', None):
        return bool(column.abilities & adapter_class.abilities)
    driver = driver_class()
    if column.attribute:
        labels = driver.getProviderSchemaClass()().getLabelSchema()
        return column.attribute in _getNames(labels)
    if column.method:
        return _isThere(driver.getProviderClass(), column.method)
    # Every driver has one type of resource for nodes.
    endpoint_class = getEndpointClass(driver_class)
    return len(list(endpoint_class.getResourceTypes(None))) > 1


def _getNames(schema):
    return {each.name for each in describe(schema)}


def _isThere(provider_class, name):
    """:return: whether a class overrides a method of Zuul's base class with
        one that does something."""
    ours, base = (
        set(method.__code__.co_names)
        if (method := getattr(each, name, None)) else set()
        for each in (provider_class, BaseProvider))
    return bool(ours - base)
