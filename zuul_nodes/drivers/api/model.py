"""Types that adapters exchange with the framework."""

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from zuul.model import QuotaInformation
from zuul.provider import statemachine

from zuul_nodes.drivers.api.configuration import ConfigObject
from zuul_nodes.drivers.api.errors import DriverError


class Ability(enum.StrEnum):
    """An optional feature of a cloud, which certain methods of
    :class:`Adapter` implement."""

    #: Creating an instance under an existing name returns that instance.
    UNIQUE_NAMES = 'unique-names'
    #: The cloud reports limits.
    LIMITS = 'limits'
    #: An instance uses more resources than ``instances``.
    NEEDS = 'needs'
    #: Images can be uploaded.
    IMAGES = 'images'
    #: The cloud can fetch images from a URL.
    IMPORT = 'import'
    #: Images can be copied from another endpoint of the driver.
    COPY = 'copy'
    #: Artifacts may have URLs that only the cloud's own library can read.
    DOWNLOAD = 'download'
    #: Images can be created from instances.
    SNAPSHOTS = 'snapshots'
    #: The console output of an instance can be read.
    CONSOLE = 'console'
    #: Instances are in zones.
    ZONES = 'zones'
    #: Resources other than instances and images can leak.
    RESOURCES = 'resources'


# With any of these, images can be created in the cloud.
MAKING_IMAGES = frozenset({Ability.IMAGES, Ability.IMPORT, Ability.COPY})


class State(enum.Enum):
    """The state of an instance."""

    BUILDING = 'building'
    READY = 'ready'
    #: It has been ready, and does not become ready again by itself.
    STOPPED = 'stopped'
    FAILED = 'failed'
    DELETED = 'deleted'


class Instance(statemachine.Instance):
    """An instance as the cloud reports it.

    :param id: identifies the instance in the cloud.
    :param tags: of the instance, including those that others have set.
    :param address: to which the launcher and the executors connect; required
        for a ready instance.
    :param needs: resources that it uses; not required for our own instances.
    :param message: the reason of a failure.
    :param error: the exception to raise after a failure; by default one that
        counts as an attempt.  After a :class:`CapacityError`, the framework
        tries another zone, if there is one.
    :param attributes: other attributes of
        ``zuul.provider.statemachine.Instance``, such as ``public_ipv4``,
        ``az``, ``host_id``, ``username``, ``connection_port``, ``host_keys``.
    """

    def __init__(self, id: str, state: State, tags: Mapping[str, str],
                 address: str | None = None,
                 needs: Mapping[str, float] | None = None,
                 message: str | None = None,
                 error: type[DriverError] | None = None,
                 **attributes: Any) -> None:
        super().__init__()
        self.id = id
        self.state = state
        self.metadata = tags
        self.interface_ip = address
        self.needs = needs
        self.message = message
        self.error = error
        self.__dict__.update(attributes)
        self.ready = state is State.READY
        self.deleted = state is State.DELETED

    @property
    def external_id(self) -> str:
        return self.id

    @property
    def tags(self) -> Mapping[str, str]:
        return self.metadata

    @property
    def problem(self) -> str | None:
        """The reason why a ready node cannot use the instance, or None."""
        if self.state in (State.BUILDING, State.READY):
            return None
        return self.message or f'its instance is {self.state.value}'

    def getQuotaInformation(self) -> QuotaInformation:
        return QuotaInformation(**(self.needs or {'instances': 1}))


class Resource(statemachine.Resource):
    """A resource in a cloud that can leak.

    :param type: alphanumeric: a part of metrics' names.
    :param id: identifies the resource in the cloud.
    :param tags: of the resource, including those that others have set.
    """

    def __init__(self, type: str, id: str, tags: Mapping[str, str]) -> None:
        super().__init__(tags, type)
        self.id = id

    @property
    def tags(self) -> Mapping[str, str]:
        return self.metadata

    @property
    def unique_id(self) -> str:
        return self.id


@dataclasses.dataclass(frozen=True)
class InstanceSpec:
    """The instance that an adapter has to create.

    :ivar name: unique, and valid as a host name.  Equal for all calls for the
        same instance.
    :ivar tags: required: the framework finds the instance by its tags.
    :ivar provider: has the attributes that the driver declares for
        providers,
    :ivar label: for labels,
    :ivar image: for images,
    :ivar flavor: and for flavors.
    :ivar image_id: the result of :meth:`Adapter.uploadImage` or a similar
        method, or None for an image of type ``cloud``.
    :ivar zone: the zone of the instance, if the adapter has zones.
    """

    name: str
    tags: dict[str, str]
    provider: ConfigObject
    label: ConfigObject
    image: ConfigObject
    flavor: ConfigObject
    image_id: str | None = None
    zone: str | None = None


@dataclasses.dataclass(frozen=True)
class ImageSpec:
    """The image that an adapter has to create.

    :ivar name: unique.
    :ivar upload_id: unique identifier of the upload; letters and digits.
    :ivar tags: required: the framework finds the image by its tags.
    :ivar format: of the file; None for a snapshot.
    :ivar image: has the attributes that the driver declares for images; None
        for a snapshot.
    :ivar timeout: seconds that the creation may take.
    :ivar md5: checksum of the file, if known.
    :ivar sha256: checksum of the file, if known.
    """

    name: str
    upload_id: str
    tags: dict[str, str]
    format: str | None
    image: ConfigObject | None
    timeout: float
    md5: str | None = None
    sha256: str | None = None
