"""The base class of all tests."""

from collections.abc import Collection
from typing import ClassVar, Protocol

import pytest
from zuul.driver import Driver as ZuulDriver

from zuul_nodes.drivers import Ability
from zuul_nodes.testing.site import Site

# The calls that create something, those that delete it, and the number of
# resources in the cloud in between.
Points = tuple[list[str], list[str], int]


class MakeSite(Protocol):
    """The value of the fixture ``makeSite``."""

    def __call__(self, uploading: bool = False) -> Site:
        ...


class Scenarios:
    """
    :cvar driver_class: that is tested.
    :cvar abilities: of the cloud; by default, those that the adapter
        declares.
    :cvar many: maximum number of nodes at the same time.
    :cvar snapshot_expiration: seconds, more than the creation of a snapshot
        takes: the launcher deletes it then, complete or not.
    """

    driver_class: ClassVar[type[ZuulDriver]]
    abilities: ClassVar[Collection[Ability] | None] = None
    many: ClassVar[int] = 20
    snapshot_expiration: ClassVar[int] = 1

    def getAbilities(self) -> Collection[Ability]:
        adapter_class = getattr(self.driver_class, 'adapter_class', None)
        return self.abilities if self.abilities is not None else (
            adapter_class.abilities if adapter_class else frozenset())

    def need(self, *abilities: Ability) -> None:
        """Skip the test unless the cloud has one of the abilities."""
        if not set(self.getAbilities()) & set(abilities):
            pytest.skip('the driver does not declare '
                        + ' or '.join(str(each) for each in abilities))

    def needMethod(self, cloud: object, name: str) -> None:
        """Skip the test unless the fixture ``cloud`` has a method."""
        if not hasattr(cloud, name):
            pytest.skip(f'the cloud has no {name}()')
