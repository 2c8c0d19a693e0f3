"""Protocols of the cloud that the author of a driver provides for tests."""

from collections.abc import Iterable, Mapping
from typing import Protocol


class ImageStorage(Protocol):
    """Serves the images that a cloud can import."""

    def add(self, name: str, data: bytes) -> str:
        """:return: the URL of a new file."""

    def end(self) -> object:
        """Stop serving; called when the test is over."""


class Cloud(Protocol):
    """The value of the fixture ``cloud``.

    The launcher runs in another process than the tests, and imports the
    driver's class there.  So the state of the cloud has to be in a file or a
    server.

    Optional attributes are

    ``image``
        content of the file of an image, bytes, if the cloud does not accept
        any content,
    ``addForeign()``
        creates an instance that is not Zuul's and must not be deleted,
    ``makeStorage()``
        returns an :class:`ImageStorage`, if the cloud cannot import images
        from any web server,

    and the methods of :class:`LimitedCloud`, :class:`StoppableCloud` and
    :class:`SilentCloud`.
    """

    @property
    def connection(self) -> Mapping[str, object]:
        """Options of the connection ``cloud`` in ``zuul.conf``."""

    @property
    def configuration(self) -> str:
        """Configuration of a tenant, from images to one provider: with a label
        ``label`` for nodes and, if the driver supports images, a label
        ``built`` whose image ``built`` is of type ``zuul``."""

    def list(self) -> Iterable[str]:
        """:return: all resources in the cloud that can leak, including
            instances and images."""


class LimitedCloud(Cloud, Protocol):

    def setLimit(self, number: int) -> object:
        """Limit the capacity to a number of nodes of label ``label``; called
        before the cloud is used."""


class StoppableCloud(Cloud, Protocol):

    def stopInstances(self) -> object:
        """Stop all instances, as users could do; for drivers that report the
        ``problem`` of such instances."""


class SilentCloud(Cloud, Protocol):

    def setSilent(self) -> object:
        """Accept calls from now on, but do not answer any."""
