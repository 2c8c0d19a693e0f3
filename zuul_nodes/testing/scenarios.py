"""What all scenarios know of the driver that is tested."""

from collections.abc import Collection
from typing import ClassVar, Protocol

import pytest
from zuul.driver import Driver as ZuulDriver

from zuul_nodes.drivers import Ability
from zuul_nodes.testing.site import Site

# What is called to bring something about, and what to remove it; and how many
# things there are in the cloud between.
Points = tuple[list[str], list[str], int]


class MakeSite(Protocol):
    """What the fixture ``makeSite`` gives."""

    def __call__(self, uploading: bool = False) -> Site:
        ...


class Scenarios:
    """
    :cvar driver_class: that is tested.
    :cvar abilities: what the cloud can do; with
        :mod:`zuul_nodes.drivers`, the adapter tells.
    :cvar many: how many nodes there can be at once.
    """

    driver_class: ClassVar[type[ZuulDriver]]
    abilities: ClassVar[Collection[Ability] | None] = None
    many: ClassVar[int] = 20

    def getAbilities(self) -> Collection[Ability]:
        adapter_class = getattr(self.driver_class, 'adapter_class', None)
        return self.abilities if self.abilities is not None else (
            adapter_class.abilities if adapter_class else frozenset())

    def need(self, *abilities: Ability) -> None:
        """Skip the test, unless the cloud has one of them."""
        if not set(self.getAbilities()) & set(abilities):
            pytest.skip('the driver does not declare '
                        + ' or '.join(str(each) for each in abilities))

    def needMethod(self, cloud: object, name: str) -> None:
        """Skip the test, unless one can do something with the cloud."""
        if not hasattr(cloud, name):
            pytest.skip(f'the cloud has no {name}()')
