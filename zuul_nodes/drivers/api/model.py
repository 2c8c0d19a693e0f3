"""What adapters and the driver API tell one another of a cloud."""

import dataclasses
import enum

from zuul.model import QuotaInformation
from zuul.provider import statemachine


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

    :param str id: by which the cloud finds it again.
    :param State state:
    :param dict tags: that it was given; others than ours as well.
    :param str address: by which the launcher and the executors connect to
        it; needed of one that is ready.
    :param dict needs: what it takes of the limits; not needed of ours.
    :param str message: why it has failed.
    :param type error: what is raised if it has failed, a
        :class:`DriverError`; by default one that counts as an attempt.  For
        a :class:`CapacityError`, another zone is tried, if there is one.
    :param attributes: whatever ``zuul.provider.statemachine.Instance``
        knows besides, such as ``public_ipv4``, ``az``, ``host_id``,
        ``username``, ``connection_port``, ``host_keys``.
    """

    def __init__(self, id, state, tags, address=None, needs=None,
                 message=None, error=None, **attributes):
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
    def external_id(self):
        return self.id

    @property
    def tags(self):
        return self.metadata

    @property
    def problem(self):
        """Why a node that is ready can't be used with it, or None."""
        if self.state in (State.BUILDING, State.READY):
            return None
        return self.message or f'its instance is {self.state.value}'

    def getQuotaInformation(self):
        return QuotaInformation(**(self.needs or {'instances': 1}))


class Resource(statemachine.Resource):
    """Something in a cloud that can leak.

    :param str type: what it is, alphanumeric: a part of metrics' names.
    :param str id: by which the cloud finds it again.
    :param dict tags: that it was given; others than ours as well.
    """

    def __init__(self, type, id, tags):
        super().__init__(tags, type)
        self.id = id

    @property
    def tags(self):
        return self.metadata

    @property
    def unique_id(self):
        return self.id


@dataclasses.dataclass(frozen=True)
class InstanceSpec:
    """An instance that is wanted.

    :ivar str name: no other instance has it; good as a host name.  The
        same whenever this instance is asked for.
    :ivar dict tags: that it has to have, str -> str.  Without them it is
        not found again.
    :ivar provider: an object with the provider's attributes,
    :ivar label: the label's,
    :ivar image: the image's,
    :ivar flavor: and the flavor's, as they were declared.
    :ivar str image_id: what :meth:`Adapter.uploadImage` or the like has
        given, or None for an image that the cloud has anyway.
    :ivar str zone: where, if the adapter has zones.
    """

    name: str
    tags: dict
    provider: object
    label: object
    image: object
    flavor: object
    image_id: str | None = None
    zone: str | None = None


@dataclasses.dataclass(frozen=True)
class ImageSpec:
    """An image that is wanted.

    :ivar str name: no other image has it.
    :ivar str upload_id: of which nothing else has been made; letters and
        digits.
    :ivar dict tags: that it has to have, str -> str.
    :ivar str format: of the file.
    :ivar image: an object with the attributes of the image; None for a
        snapshot.
    :ivar float timeout: seconds that making it may take.
    :ivar str md5: checksum of the file, if known,
    :ivar str sha256: and the other one.
    """

    name: str
    upload_id: str
    tags: dict
    format: str | None
    image: object
    timeout: float
    md5: str | None = None
    sha256: str | None = None
