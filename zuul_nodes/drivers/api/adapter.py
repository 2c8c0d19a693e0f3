"""The class that the author of a driver for a new cloud subclasses."""

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

# The methods that an adapter with an ability implements.
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
    """Calls a cloud on behalf of Zuul.

    There is one object for each endpoint, however many providers share it.
    Several threads and several launchers may call any method at once.

    The framework calls each method at the connection's rate, counts and
    times the calls, and repeats a call that has failed.  A launcher may be
    killed at any moment, even after the cloud has acted; another launcher
    then repeats the call with the same arguments.  So each method has to be
    idempotent.

    Give :attr:`timeout` to each call of the cloud, so that none blocks
    forever.  Methods return as soon as the cloud has accepted the request and
    do not wait for its completion, except for those that create an image.

    :param connection: with the attributes that the driver declares for it.
    :param place: identifies the endpoint within the connection: one argument
        for each name in the driver's ``endpoint_attributes``.
    :cvar abilities: the optional features of the cloud.  The framework uses
        no others.
    :cvar image_formats: formats that may be uploaded or imported, the default
        first.
    :cvar resource_types: the types of the resources that
        :meth:`listResources` returns.
    :cvar list_interval: minimum number of seconds between two lists of
        instances while nodes wait for them.
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
                                    f'"{ability}" but does not define {name}')

    def start(self) -> None:
        """Connect, or prepare in another way; only launchers call this."""

    def stop(self) -> None:
        """Close connections and release other resources."""

    # Instances

    def createInstance(self, spec: InstanceSpec) -> Instance:
        """Ask the cloud for an instance.

        With :attr:`Ability.UNIQUE_NAMES`, return the existing instance if an
        earlier call has created it.  Without that ability, the framework
        searches a list of instances before it calls this method.

        :return: the instance, usually in the state BUILDING.
        :raises QuotaError, CapacityError, TemporaryError, PermanentError:
        """
        raise NotImplementedError

    def listInstances(self) -> Iterable[Instance]:
        """List all instances, including those of others, which use quota.

        One list serves all nodes that wait for the cloud.

        :return: all instances; deleted ones may be omitted.
        """
        raise NotImplementedError

    def deleteInstance(self, instance_id: str) -> Future[None] | None:
        """Ask the cloud to delete an instance and everything created for it.

        Do nothing if the instance does not exist or is being deleted.

        :return: None once the cloud has accepted the request, or a Future
            that completes then, for which no thread waits.
        """
        raise NotImplementedError

    # Quota

    def getLimits(self) -> Mapping[str, float]:
        """Ask for the limits of the cloud account.

        :return: resource -> the maximum for all instances that
            :meth:`listInstances` returns together.  Use the names
            ``instances``, ``cores`` and ``ram`` (MiB).  A resource that is
            missing has no limit.
        """
        return {}

    def getNeeds(self, spec: InstanceSpec) -> Mapping[str, float]:
        """Find the resources that an instance uses.

        Called rarely; all launchers share the answer.

        :param spec: without name, tags and zone.
        :return: resource -> amount that one instance uses.
        :raises PermanentError: the cloud cannot create such an instance.  The
            launcher tries it nevertheless, so that requests fail with the
            reason.
        """
        return {'instances': 1}

    def listZones(self) -> Iterable[str]:
        """List the zones for providers that do not configure any.

        Called rarely.

        :return: names of the zones in which instances can be created.
        """
        return []

    # Images

    def uploadImage(self, spec: ImageSpec, path: str) -> str:
        """Create an image from a file, and wait until it is usable.

        After an error, the launcher uploads the image again under another
        name, and finds the remains of the failed upload by their tags.

        :param path: of the decompressed file.
        :return: the image's id.
        """
        raise NotImplementedError

    def canImport(self, spec: ImageSpec, url: str) -> bool:
        """Check whether the cloud can import an image from a URL.

        Do not call the cloud, or only briefly: other uploads of the image
        wait for the answer.

        :return: whether the cloud can fetch the image from the URL and its
            checksums are verified.  If not, the launcher downloads and uploads
            the image.
        """
        return True

    def importImage(self, spec: ImageSpec, url: str) -> str:
        """Have the cloud fetch an image; otherwise as :meth:`uploadImage`.

        :raises GoneError: the URL no longer exists.
        """
        raise NotImplementedError

    def copyImage(self, spec: ImageSpec, image_id: str, source: Self) -> str:
        """Have the cloud copy an image; otherwise as :meth:`uploadImage`.

        :param image_id: of the source image.
        :param source: the adapter of the endpoint with the source image.
        """
        raise NotImplementedError

    def listImages(self) -> Iterable[Resource]:
        """:return: each image that could be ours, including incomplete ones.
        """
        return ()

    def deleteImage(self, image_id: str) -> None:
        """Delete an image; do nothing if it does not exist."""
        raise NotImplementedError

    def downloadUrl(self, url: str, path: str) -> bool:
        """Download a URL that only the cloud's own library can read.

        :param path: of the file to write.
        :return: whether this method supports the URL; if so, it has written
            the file.
        """
        return False

    def createSnapshot(self, instance_id: str, spec: ImageSpec) -> str:
        """Create an image from an instance, and wait until it is usable.

        :param spec: equal for all calls for the same snapshot.
        :return: the URL for the artifact.
        """
        raise NotImplementedError

    # Other

    def checkAccess(self) -> str:
        """Check for ``zuul-nodes check`` whether the credentials are valid.

        Override this if :meth:`listInstances` changes anything.

        :return: a sentence that describes the problem, or an empty string.
        """
        list(self.listInstances())
        return ''

    def getChecks(self, spec: InstanceSpec) -> Iterable[Check]:
        """List the objects of the cloud that a configuration names.

        ``zuul-nodes check`` calls this for each label and zone, and asks equal
        questions once.  It checks access, zones and quota by itself.  Only the
        checks call the cloud, not this method, and checks change nothing.

        :param spec: without name, tags and zone; also without ``image_id`` if
            Zuul builds the image.
        :return: one check for each object.
        """
        return ()

    def getConsoleLog(self, instance_id: str) -> str | None:
        """:return: the console output of the instance, or None."""
        return None

    def listResources(self) -> Iterable[Resource]:
        """:return: resources that could be ours, except instances and images.
        """
        return ()

    def deleteResource(self, resource: Resource) -> None:
        """Delete an unused resource; do nothing if it does not exist.

        :param resource: an item of :meth:`listResources`.
        """
        raise NotImplementedError
