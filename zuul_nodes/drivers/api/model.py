"""What adapters and the driver API tell one another of a cloud."""

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from zuul.model import QuotaInformation
from zuul.provider import statemachine

from zuul_nodes.drivers.api.configuration import ConfigObject
from zuul_nodes.drivers.api.errors import DriverError


class Ability(enum.StrEnum):
    """What a cloud can do besides instances, and which methods of
    :class:`Adapter` stand for it."""

    #: Creating an instance by the same name again gives that instance.
    UNIQUE_NAMES = 'unique-names'
    #: There are limits to ask for.
    LIMITS = 'limits'
    #: What an instance takes is more than one instance.
    NEEDS = 'needs'
    #: Images can be uploaded.
    IMAGES = 'images'
    #: The cloud can fetch images by itself.
    IMPORT = 'import'
    #: Images can be copied from another endpoint of the driver.
    COPY = 'copy'
    #: Artifacts may be where only the cloud's own library gets them.
    DOWNLOAD = 'download'
    #: Images can be made of instances.
    SNAPSHOTS = 'snapshots'
    #: One can read what an instance writes to its console.
    CONSOLE = 'console'
    #: Instances are in zones.
    ZONES = 'zones'
    #: There are things beside instances and images that can leak.
    RESOURCES = 'resources'


# With any of these, images can be made for the cloud.
MAKING_IMAGES = frozenset({Ability.IMAGES, Ability.IMPORT, Ability.COPY})


class State(enum.Enum):
    """Of an instance, as a node sees it."""

    BUILDING = 'building'
    READY = 'ready'
    #: It has been ready, and will not be again by itself.
    STOPPED = 'stopped'
    FAILED = 'failed'
    DELETED = 'deleted'


class Instance(statemachine.Instance):
    """An instance, as the cloud has it now.

    :param id: by which the cloud finds it again.
    :param tags: that it was given; others than ours as well.
    :param address: by which the launcher and the executors connect to
        it; needed of one that is ready.
    :param needs: what it takes of the limits; not needed of ours.
    :param message: why it has failed.
    :param error: what is raised if it has failed; by default what counts as
        an attempt.  For a :class:`CapacityError`, another zone is tried, if
        there is one.
    :param attributes: whatever ``zuul.provider.statemachine.Instance``
        knows besides, such as ``public_ipv4``, ``az``, ``host_id``,
        ``username``, ``connection_port``, ``host_keys``.
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
        """Why a node that is ready can't be used with it, or None."""
        if self.state in (State.BUILDING, State.READY):
            return None
        return self.message or f'its instance is {self.state.value}'

    def getQuotaInformation(self) -> QuotaInformation:
        return QuotaInformation(**(self.needs or {'instances': 1}))


class Resource(statemachine.Resource):
    """Something in a cloud that can leak.

    :param type: what it is, alphanumeric: a part of metrics' names.
    :param id: by which the cloud finds it again.
    :param tags: that it was given; others than ours as well.
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
    """An instance that is wanted.

    :ivar name: no other instance has it; good as a host name.  The
        same whenever this instance is asked for.
    :ivar tags: that it has to have.  Without them it is not found again.
    :ivar provider: has the attributes that the driver declares for
        providers,
    :ivar label: for labels,
    :ivar image: for images,
    :ivar flavor: and for flavors.
    :ivar image_id: what :meth:`Adapter.uploadImage` or the like has
        given, or None for an image that the cloud has anyway.
    :ivar zone: where, if the adapter has zones.
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
    """An image that is wanted.

    :ivar name: no other image has it.
    :ivar upload_id: of which nothing else has been made; letters and
        digits.
    :ivar tags: that it has to have.
    :ivar format: of the file; None for a snapshot.
    :ivar image: has the attributes that the driver declares for images; None
        for a snapshot.
    :ivar timeout: seconds that making it may take.
    :ivar md5: checksum of the file, if known,
    :ivar sha256: and the other one.
    """

    name: str
    upload_id: str
    tags: dict[str, str]
    format: str | None
    image: ConfigObject | None
    timeout: float
    md5: str | None = None
    sha256: str | None = None
