"""Types of the configuration that a driver declares and receives."""

from typing import Any, Protocol, TypeAlias

from zuul.lib.voluputil import Optional, Required

# Attribute -> its schema in the terms of voluptuous: a type, a function, …
Attributes: TypeAlias = dict[Optional | Required, Any]


class ConfigObject(Protocol):
    """A provider, label, image or flavor with the attributes that its driver
    declares, whose names have underscores instead of hyphens."""

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
        """Maximum number of calls to the cloud per second."""

    def __getattr__(self, name: str) -> Any:
        ...
