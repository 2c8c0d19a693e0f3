"""The one class that a driver's author writes for a new cloud."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, ClassVar, Self

from zuul_nodes.drivers.api.check import Check
from zuul_nodes.drivers.api.configuration import Connection
from zuul_nodes.drivers.api.model import (
    Ability,
    ImageSpec,
    Instance,
    InstanceSpec,
    Resource,
)

# Which methods an ability stands for.
METHODS: dict[Ability, tuple[str, ...]] = {
    Ability.UNIQUE_NAMES: (),
    Ability.LIMITS: ('getLimits',),
    Ability.NEEDS: ('getNeeds',),
    Ability.IMAGES: ('uploadImage', 'listImages', 'deleteImage'),
    Ability.IMPORT: ('importImage', 'listImages', 'deleteImage'),
    Ability.COPY: ('copyImage', 'listImages', 'deleteImage'),
    Ability.DOWNLOAD: ('downloadUrl',),
    Ability.SNAPSHOTS: ('createSnapshot', 'listImages', 'deleteImage'),
    Ability.CONSOLE: ('getConsoleLog',),
    Ability.ZONES: ('listZones',),
    Ability.RESOURCES: ('listResources', 'deleteResource'),
}


class Adapter:
    """A cloud, as far as Zuul needs it.

    There is one object for each endpoint, whatever the number of providers
    that share it.  Any method may be called from several threads at once,
    and by several launchers.

    Each method is called at the connection's rate, is counted and timed,
    and is called again when it has failed.  The launcher that calls it may
    be killed at any moment, also after the cloud has acted: then the next
    one calls it again, with the same arguments.  So each method has to
    leave alone what is done already.

    No call to the cloud may go on for ever: give each :attr:`timeout`.
    Methods return as soon as the cloud has accepted what they ask for; they
    do not wait for the end, except those that make an image.

    :param connection: with the attributes that the driver declares for it.
    :param place: what tells endpoints of a connection apart: one argument
        for each name in the driver's ``endpoint_attributes``.
    :cvar abilities: what the cloud can do.  What is not in there is never
        asked for.
    :cvar image_formats: what may be uploaded or imported, the usual one
        first.
    :cvar resource_types: what types :meth:`listResources` knows.
    :cvar list_interval: seconds between two lists of instances, at
        least, while nodes are waited for.
    :ivar timeout: seconds that a call to the cloud may take.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset()
    image_formats: ClassVar[tuple[str, ...]] = ('raw',)
    resource_types: ClassVar[tuple[str, ...]] = ()
    list_interval: float = 1.0

    def __init__(self, connection: Connection, **place: str) -> None:
        self.connection = connection
        self.place = place
        self.timeout = connection.api_timeout

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for ability in cls.abilities:
            for name in METHODS[ability]:
                if getattr(cls, name) is getattr(Adapter, name):
                    raise TypeError(f'{cls.__name__} declares the ability '
                                    f'"{ability}" and has no {name}')

    def start(self) -> None:
        """Connect, or whatever else has to be done once; in a launcher."""

    def stop(self) -> None:
        """Leave nothing open."""

    # Instances

    def createInstance(self, spec: InstanceSpec) -> Instance:
        """Ask the cloud for an instance.

        With :attr:`Ability.UNIQUE_NAMES`, it may be there already, of an
        earlier call: then that is the answer.  Without, a list of instances
        is looked at before.

        :return: most likely one that is building.
        :raises QuotaError, CapacityError, TemporaryError, PermanentError:
        """
        raise NotImplementedError

    def listInstances(self) -> Iterable[Instance]:
        """All instances, those of others too, which use up limits.

        One list serves all nodes that wait for the cloud.

        :return: all of them; what is deleted may be left out.
        """
        raise NotImplementedError

    def deleteInstance(self, instance_id: str) -> Future[None] | None:
        """Ask the cloud to remove an instance and all that was made for
        it; nothing if there is no such instance, or it is being removed.

        :return: None once the cloud has accepted it, or a Future that ends
            then: no thread waits for that.
        """
        raise NotImplementedError

    # Quota

    def getLimits(self) -> Mapping[str, float]:
        """
        :return: resource -> the most of it that there may be, for all that
            :meth:`listInstances` tells of.  ``instances``, ``cores`` and
            ``ram`` (MiB) go by these names.  What is missing has no limit.
        """
        return {}

    def getNeeds(self, spec: InstanceSpec) -> Mapping[str, float]:
        """Asked seldom, and the answer is remembered by all launchers.

        :param spec: without name, tags and zone.
        :return: resource -> how much of it such an instance takes.
        :raises PermanentError: there can be no such instance.  It is asked
            for nevertheless, so that who waits for it is told why.
        """
        return {'instances': 1}

    def listZones(self) -> Iterable[str]:
        """Asked seldom.

        :return: names of the zones where instances can be, if the provider
            does not say which.
        """
        return []

    # Images

    def uploadImage(self, spec: ImageSpec, path: str) -> str:
        """Make an image of a file, and wait until it can be used.

        If it fails, it is tried again by another name; what is left of it
        is found by its tags.

        :param path: of the file, decompressed.
        :return: the image's id.
        """
        raise NotImplementedError

    def canImport(self, spec: ImageSpec, url: str) -> bool:
        """Said without a call to the cloud, or with a short one: other
        uploads of the image wait for it.

        :return: whether the cloud can fetch an image from there, and its
            checksums are verified.  If not, it is downloaded and uploaded.
        """
        return True

    def importImage(self, spec: ImageSpec, url: str) -> str:
        """Have the cloud fetch an image; otherwise as :meth:`uploadImage`.

        :raises GoneError: there is nothing at the URL any more.
        """
        raise NotImplementedError

    def copyImage(self, spec: ImageSpec, image_id: str, source: Self) -> str:
        """Have the cloud copy an image; otherwise as :meth:`uploadImage`.

        :param image_id: of what is to be copied,
        :param source: and where that is.
        """
        raise NotImplementedError

    def listImages(self) -> Iterable[Resource]:
        """:return: each image that could be ours, also one that is not
            complete."""
        return ()

    def deleteImage(self, image_id: str) -> None:
        """Remove an image; nothing if there is no such image."""
        raise NotImplementedError

    def downloadUrl(self, url: str, path: str) -> bool:
        """Download what only the cloud's own library can get at.

        :param path: of the file that is to be written.
        :return: whether this is such a URL; if so, the file is there.
        """
        return False

    def createSnapshot(self, instance_id: str, spec: ImageSpec) -> str:
        """Make an image of an instance, and wait until it can be used.

        :param spec: the same as long as it is the same snapshot.
        :return: what an artifact has for its URL.
        """
        raise NotImplementedError

    # Other

    def checkAccess(self) -> str:
        """Whether Zuul is let in, for ``zuul-nodes check``.  Needed if
        :meth:`listInstances` does more than to look.

        :return: what is wrong, a sentence, or an empty string.
        """
        list(self.listInstances())
        return ''

    def getChecks(self, spec: InstanceSpec) -> Iterable[Check]:
        """What ``zuul-nodes check`` asks the cloud, beside its instances,
        zones and limits: whether there is what a configuration names.

        The cloud is called by the checks only, not by this; and nothing is
        changed by them.  It is called for each label and zone; what several
        of them name is asked once.

        :param spec: without name, tags and zone; without
            ``image_id``, also if its image is one that Zuul makes.
        :return: one for each thing that it names.
        """
        return ()

    def getConsoleLog(self, instance_id: str) -> str | None:
        """:return: what the instance has written to its console, or None.
        """
        return None

    def listResources(self) -> Iterable[Resource]:
        """:return: whatever could be ours, beside instances and images."""
        return ()

    def deleteResource(self, resource: Resource) -> None:
        """Remove something that nobody needs; nothing if it is gone.

        :param resource: as it was listed.
        """
        raise NotImplementedError
