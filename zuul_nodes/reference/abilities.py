"""What clouds can do, as their drivers have it."""

import dataclasses

from zuul.provider import BaseProvider

from zuul_nodes.drivers import Ability
from zuul_nodes.plugin.extensions import getEndpointClass
from zuul_nodes.reference.attributes import describe, getZuuls

NOT = '\N{EN DASH}'
# With any of these, images can leak, and with the last, other things.
LEAKING = {Ability.IMAGES, Ability.IMPORT, Ability.COPY, Ability.SNAPSHOTS,
           Ability.RESOURCES}


@dataclasses.dataclass
class Column:
    """Something that a cloud can do.

    :ivar str title:
    :ivar set abilities: any of them is enough for an adapter.
    :ivar str method: what a provider of Zuul's has for it.
    :ivar str attribute: what labels have where there is a choice.
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
    :return: a list: for each of :data:`COLUMNS`, "Zuul's", "ours", or a
        dash if the driver can not do that.
    """
    zuuls = getZuuls(driver_class)
    return ["Zuul's" if zuuls and hasAbility(zuuls, column)
            else 'ours' if hasAbility(driver_class, column) else NOT
            for column in COLUMNS]


def hasAbility(driver_class, column):
    """
    :param driver_class: of ours or of Zuul's.
    :param Column column:
    """
    if adapter_class := getattr(driver_class, 'adapter_class', None):
        return bool(column.abilities & adapter_class.abilities)
    driver = driver_class()
    if column.attribute:
        labels = driver.getProviderSchemaClass()().getLabelSchema()
        return column.attribute in _getNames(labels)
    if column.method:
        return _isThere(driver.getProviderClass(), column.method)
    # One is that of nodes, whatever their cloud calls them.
    endpoint_class = getEndpointClass(driver_class)
    return len(list(endpoint_class.getResourceTypes(None))) > 1


def _getNames(schema):
    return {each.name for each in describe(schema)}


def _isThere(provider_class, name):
    """:return: whether a method of a class knows of more than that of Zuul's
        base class, which does nothing."""
    ours, base = (
        set(method.__code__.co_names)
        if (method := getattr(each, name, None)) else set()
        for each in (provider_class, BaseProvider))
    return bool(ours - base)
