"""The settings of a launcher, as its section of zuul.conf has them.

This is the one place that reads the section.  Each setting has a type, its
unit, a default and limits; the reference of the options in the documentation
is made of them.  Settings that no operator should need are internal: they are
read like the others, and not documented.
"""

from collections.abc import Callable
import configparser
import dataclasses
import math
import os
from typing import Any

from zuul_nodes.drivers import addresses
from zuul_nodes.exceptions import UserError
from zuul_nodes.imagefiles import BLOCK_SIZE, SIZE_LIMIT

SECTION = 'launcher'
SWITCH = {'true': True, 'yes': True, 'on': True, '1': True,
          'false': False, 'no': False, 'off': False, '0': False}


@dataclasses.dataclass(frozen=True)
class Kind:
    """What an option has for a value.

    :ivar read: makes the value of a text; raises ValueError.
    :ivar expected: in words, what the text has to be.
    """
    read: Callable[[str], object]
    expected: str


def _readPath(text: str) -> str:
    if not text:
        raise ValueError
    return os.path.expanduser(text)


def _readNames(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(','))))


KINDS: dict[Any, Kind] = {
    bool: Kind(lambda text: SWITCH[text.lower()], 'true or false'),
    int: Kind(int, 'a whole number'),
    float: Kind(float, 'a number'),
    str: Kind(_readPath, 'a path'),
    tuple[str, ...]: Kind(_readNames, 'a list'),
    addresses.ImageSources: Kind(addresses.ImageSources, 'a list'),
}


def option(default: Any, text: str, unit: str | None = None,
           least: float | None = None, most: float | None = None,
           shown: str | None = None, internal: bool = False) -> Any:
    """:return: a field of :class:`Settings`.

    :param default: the value, or a class that makes it.
    :param text: what the setting is, in reStructuredText.
    :param unit: of a number.
    :param least: the smallest number that is allowed.
    :param most: the largest one.
    :param shown: the default as zuul.conf would have it, if that is not how
        Python writes it.
    :param internal: whether it is left out of the documentation.
    """
    metadata = {'text': text, 'unit': unit, 'least': least, 'most': most,
                'shown': shown, 'internal': internal}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def internal(default: float, text: str, unit: str = 'seconds',
             least: float = 0) -> Any:
    """:return: a field for what no operator should need to set."""
    return option(default, text, unit, least, internal=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What an operator has set for the launchers of a zuul.conf.

    :raises UserError: a value is outside its limits.
    """

    embedded: bool = option(True, '''
        Whether the schedulers run a launcher.''')
    connection_filter: tuple[str, ...] = option((), '''
        The connections that this launcher looks after, with commas between
        their names.  Without it, the launcher looks after all.''', shown='')
    temp_dir: str = option('/tmp', '''
        Where images are downloaded to.  Each launcher has a directory of its
        own there, below one that only its user can enter, and removes those
        of launchers that were killed.  A quarter of a GiB is left for others,
        but for what drivers download themselves.''')
    command_socket: str = option('/var/lib/zuul/launcher.socket', '''
        The command socket of a launcher that is apart from the scheduler.
        ''')
    image_size_limit: int = option(SIZE_LIMIT, '''
        Most bytes that an image may have, also when it is decompressed
        (bzip2, gzip, xz or zstd, whatever its name is).  Decompression may
        take 256 MiB of memory; an image that needs more is refused.''',
        unit='bytes', least=1)
    image_minimum_rate: int = option(64 << 10, '''
        What has to come from the server of an image, on average of a minute.
        Below this, the launcher gives that attempt up.  ``0`` is any rate.
        ''', unit='bytes per second', least=0)
    image_sources: addresses.ImageSources = option(  # noqa: RUF009
        addresses.ImageSources, '''
        From where images may be downloaded, with commas between them: names
        of hosts, addresses, networks, and URLs, which stand for their
        directory and all below.  ``public`` is the whole Internet.  See
        :doc:`trust`.''', shown='public')
    require_image_checksums: bool = option(False, '''
        Whether an image that a job returns has to have a checksum, ``sha256``
        or ``md5sum`` in the metadata of its artifact, which is verified
        whatever that takes.  Snapshots of nodes need none.''')
    unhandled_timeout: float = option(600.0, '''
        After this time a request fails if its nodes belong to a connection
        that no running launcher looks after, or to a provider that the
        launcher of the request can't read.''', unit='seconds', least=0)
    call_timeout: float = option(600.0, '''
        How long a call of a driver may take, to its cloud as a rule, before
        it is given up.''', unit='seconds', least=0.001)
    image_timeout: float = option(21600.0, '''
        How long a driver may take to upload, import, copy or download one
        image, and the launcher to download it, before that attempt is given
        up; more than any ``import-timeout`` that tenants are to use.''',
        unit='seconds', least=0.001)
    endpoint_workers: int = option(8, '''
        How many threads call the driver for one endpoint, as one region of a
        cloud is.''', unit='threads', least=1, most=1000)

    # How the launcher works

    workers: int = internal(8, '''
        Threads that look at what has changed; most of the time most of them
        wait for ZooKeeper to write something.''', unit='threads', least=1)
    stop_timeout: float = internal(10.0, '''
        How long to wait at the end for drivers that have been called, and for
        ZooKeeper to come back.''')
    publish_interval: float = internal(0.5, '''
        After this time, other launchers know what we have reserved.''')
    others_interval: float = internal(10.0, '''
        How often the launcher looks at what others have learned of the
        connections that it does not handle.''')
    layout_first_pause: float = internal(0.02, '''
        A layout that can't be read is tried again after this time, and then
        each time after twice as long.''')
    layout_longest_pause: float = internal(10.0, '''
        The longest of these pauses.''')
    reason_interval: float = internal(60.0, '''
        How often the launcher looks for what requests wait.''')

    name_interval: float = internal(60.0, '''
        How often the names of machines are looked up.''')
    limits_lifetime: float = internal(5.0, '''
        How long the planner believes what a driver has said of limits.''')

    # Nodes

    capacity_interval: float = internal(10.0, '''
        A node that waits for capacity looks for it itself after this time, as
        not all of what takes it can be seen.''')
    slot_sync_timeout: float = internal(300.0, '''
        If the records of a host and of its slots do not all appear in this
        time, they will not.''')
    drift_grace: float = internal(300.0, '''
        How long ready nodes of an old definition may stay.''')
    liveness_timeout: float = internal(5.0, '''
        How long a machine has to answer before a request gets it.''')
    liveness_memory: float = internal(30.0, '''
        How long a machine that has answered this launcher is believed.''')
    reclaim_interval: float = internal(2.0, '''
        How often idle nodes are looked at while somebody waits for
        capacity.''')
    leaving_time: float = internal(60.0, '''
        A node that has not left after this time may be stuck: what it uses is
        not waited for.''')
    min_ready_interval: float = internal(0.05, '''
        The nodes to be kept ready are counted at most this often.''')
    min_ready_pause: float = internal(2.0, '''
        What can not be made ready is tried again after this time.''')
    min_ready_batch: int = internal(50, '''
        How many are made without another look at what there is.''',
        unit='nodes', least=1)
    lock_removal_interval: float = internal(10.0, '''
        The lock of a node that is gone goes when nobody waits for it; that is
        looked at after this time.''')
    snapshot_interval: float = internal(1.0, '''
        How often snapshots are looked at.''')
    delete_timeout: float = internal(600.0, '''
        For how long deletions that fail are tried again.  Then the record
        goes, where what is left in the cloud is found by its tags.''')
    unrecorded_time: float = internal(0.02, '''
        A state machine goes on without a break as long as it gets on, but not
        longer than this without a record of it.''')
    shortest_poll: float = internal(0.05, '''
        How long to wait at least before a cloud is asked again.''')
    host_key_retry: float = internal(1.0, '''
        How long after a failed attempt a machine is connected to again.''')

    # Endpoints

    cleanup_interval: float = internal(60.0, '''
        How long between two rounds of the clean-up, and between two sightings
        of what has leaked.''')
    quota_interval: float = internal(300.0, '''
        How often a cloud is asked for its limits.''')
    endpoint_patience: float = internal(600.0, '''
        A driver that takes no step for this time is not waited for.''')

    # Images

    image_interval: float = internal(60.0, '''
        How long until what went wrong is tried again, or until something is
        looked at of which nobody may tell that it has changed.''')
    image_first_pause: float = internal(300.0, '''
        How long until what has come to nothing is tried again; each pause is
        twice as long as the last.''')
    image_longest_pause: float = internal(12 * 3600.0, '''
        The longest of these pauses.''')
    image_settle_time: float = internal(10.0, '''
        How long an image has to be missing before it is built.''')
    image_lock_pause: float = internal(2.0, '''
        When what could not be locked should be free again.''')
    image_adoption_age: float = internal(300.0, '''
        How long a scheduler has to write the uploads of a build.''')
    image_use_pause: float = internal(5.0, '''
        When a node that is being made of an image may be there.''')
    unwanted_build_age: float = internal(300.0, '''
        How old a build is that nobody may want.  A change that adds an image
        may have it built before it is in any layout.''')
    abandoned_upload_age: float = internal(3600.0, '''
        How long an upload stays after its providers have gone: they may have
        been taken out by mistake, or get another name in two steps.''')
    download_chunk_size: int = internal(100 * BLOCK_SIZE, '''
        What one request for a part of an image asks for.''',
        unit='bytes', least=1)
    download_connections: int = internal(5, '''
        How many of these requests there are at a time.''',
        unit='requests', least=1)
    download_attempts: int = internal(5, '''
        How often a download may break without having got on.''',
        unit='times', least=1)
    download_check_interval: float = internal(1.0, '''
        How often the launcher looks whether a download is to go on.''')
    download_window: float = internal(60.0, '''
        In which time a download has to get on.''')
    progress_interval: float = internal(30.0, '''
        How long between two lines about something that takes its time.''')
    upload_attempts: int = internal(3, '''
        How many times an upload is begun until it counts as failed.''',
        unit='times', least=1)
    upload_retry_pause: float = internal(5.0, '''
        How long before the second attempt; each pause is twice as long as the
        last.''')

    @classmethod
    def read(cls, config: configparser.ConfigParser) -> 'Settings':
        """
        :param config: zuul.conf
        :raises UserError: it has a value that is not right.
        """
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            if config.has_option(SECTION, field.name):
                values[field.name] = _readValue(
                    field, config.get(SECTION, field.name).strip())
        return cls(**values)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.type in (int, float):
                _checkLimits(field, getattr(self, field.name))


def getOptions() -> list[dataclasses.Field[Any]]:
    """:return: a list of the fields that operators may set."""
    return [field for field in dataclasses.fields(Settings)
            if not field.metadata['internal']]


def describeValue(field: dataclasses.Field[Any]) -> str:
    """:return: in words, what an option has for a value."""
    words = KINDS[field.type].expected
    if unit := field.metadata['unit']:
        words += f' of {unit}'
    least, most = field.metadata['least'], field.metadata['most']
    if least is not None:
        words += f', at least {least:g}'
    if most is not None:
        words += f', at most {most:g}'
    return words


def describeDefault(field: dataclasses.Field[Any]) -> str:
    """:return: the default, as zuul.conf would have it."""
    default = field.default
    if (shown := field.metadata['shown']) is not None:
        return str(shown)
    if isinstance(default, bool):
        return str(default).lower()
    return f'{default:g}' if isinstance(default, float) else str(default)


def _readValue(field: dataclasses.Field[Any], text: str) -> object:
    try:
        return KINDS[field.type].read(text)
    except (KeyError, ValueError) as error:
        raise _makeError(field, text, str(error)) from None


def _checkLimits(field: dataclasses.Field[Any], value: float) -> None:
    least, most = field.metadata['least'], field.metadata['most']
    if not (math.isfinite(value) and (least is None or value >= least)
            and (most is None or value <= most)):
        raise _makeError(field, value)


def _makeError(field: dataclasses.Field[Any], value: object,
               reason: str = '') -> UserError:
    if field.type is addresses.ImageSources:
        # It says all that there is to say.
        return UserError(f'zuul.conf: {reason}')
    return UserError(
        f'zuul.conf: "{field.name}" in [{SECTION}] is "{value}"; it has to be '
        f'{describeValue(field)}')
