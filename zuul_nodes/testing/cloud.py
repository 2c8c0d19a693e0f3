"""What the author of a driver tells of the cloud that tests run with."""

from collections.abc import Iterable, Mapping
from typing import Protocol


class ImageStorage(Protocol):
    """Where images are that a cloud can import."""

    def add(self, name: str, data: bytes) -> str:
        """:return: the URL of a new file."""

    def end(self) -> object:
        """Called when the test is over."""


class Cloud(Protocol):
    """What the fixture ``cloud`` gives.

    The launcher is another process than the tests, and the driver's class
    is imported there.  So the cloud is a file, a server or the like.

    It may have more:

    ``image``
        what is in the file of an image, if the cloud does not take just
        anything: bytes,
    ``addForeign()``
        makes an instance that is not Zuul's, and may not be removed,
    ``makeStorage()``
        gives where images are that the cloud can import, if that is not any
        web server: an :class:`ImageStorage`,

    and the methods of :class:`LimitedCloud`, :class:`StoppableCloud` and
    :class:`SilentCloud`.
    """

    @property
    def connection(self) -> Mapping[str, object]:
        """Options of the connection ``cloud`` in ``zuul.conf``."""

    @property
    def configuration(self) -> str:
        """What a tenant writes, from images to one provider: with a label
        ``label`` for nodes, and if the driver has images, also a label
        ``built`` whose image ``built`` is made by Zuul."""

    def list(self) -> Iterable[str]:
        """:return: what there is in the cloud that could leak, instances,
            images and whatever else."""


class LimitedCloud(Cloud, Protocol):

    def setLimit(self, number: int) -> object:
        """Have the cloud have room for so many nodes of label ``label``;
        called before it is used."""


class StoppableCloud(Cloud, Protocol):

    def stopInstances(self) -> object:
        """Stop all instances that there are, as people could do; with a
        driver that tells launchers of the ``problem`` of such instances."""


class SilentCloud(Cloud, Protocol):

    def setSilent(self) -> object:
        """Have the cloud accept calls, and never answer any."""
