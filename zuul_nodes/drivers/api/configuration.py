"""What a driver declares for people to write, and what it gets of that."""

from typing import Any, Protocol, TypeAlias

from zuul.lib.voluputil import Optional, Required

# Attribute -> what it may be, as voluptuous has it: a type, a function or the
# like.
Attributes: TypeAlias = dict[Optional | Required, Any]


class ConfigObject(Protocol):
    """A provider, label, image or flavor, with the attributes that its driver
    declares, and with underscores instead of hyphens in their names."""

    @property
    def name(self) -> str:
        ...

    def __getattr__(self, name: str) -> Any:
        ...


class Connection(Protocol):
    """A section ``[connection NAME]`` of ``zuul.conf``, with the options that
    its driver declares."""

    @property
    def connection_name(self) -> str:
        ...

    @property
    def api_timeout(self) -> float:
        """Seconds that a call to the cloud may take."""

    @property
    def rate(self) -> float | None:
        """How many calls to the cloud there are in a second, at most."""

    def __getattr__(self, name: str) -> Any:
        ...
