"""The settings of a launcher, from its section of zuul.conf.

Only this module reads the section.  Each setting has a type, a unit, a default
and limits, from which the reference of options in the documentation is
generated.  Settings that no operator should need are internal: they are read
like the others, but not documented.
"""

from collections.abc import Callable, Mapping
import configparser
import dataclasses
import math
import os
from typing import Any

from zuul_nodes.drivers import addresses
from zuul_nodes.exceptions import UserError
from zuul_nodes.imagefiles import BLOCK_SIZE, SIZE_LIMIT
from zuul_nodes.imagetenants import EXPECTED, ImageTenants

SECTION = 'launcher'
SWITCH = {'true': True, 'yes': True, 'on': True, '1': True,
          'false': False, 'no': False, 'off': False, '0': False}


@dataclasses.dataclass(frozen=True)
class Kind:
    """A type of option.

    :ivar read: converts a text into the value; raises ValueError.
    :ivar expected: describes valid texts.
    """
    read: Callable[[str], object]
    expected: str


def _readPath(text: str) -> str:
    if not text:
        raise ValueError
    return os.path.expanduser(text)


def _readNames(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(','))))


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Time-outs of tenants, in seconds.

    :ivar general: for all other tenants; None for no limit.
    :ivar by_tenant: name of a tenant -> its own; None for no limit.
    """
    general: float | None = None
    by_tenant: Mapping[str, float | None] = dataclasses.field(
        default_factory=dict)

    def get(self, tenant_name: str) -> float | None:
        return self.by_tenant.get(tenant_name, self.general)


def _readTimeouts(text: str) -> Timeouts:
    general, by_tenant = None, {}
    for entry in _readNames(text):
        # The name of a tenant may contain any characters.
        name, equals, number = entry.rpartition('=')
        seconds = float(number)
        if not 0 <= seconds < math.inf:
            raise ValueError
        if equals:
            by_tenant[name.strip()] = seconds or None
        else:
            general = seconds or None
    return Timeouts(general, by_tenant)


@dataclasses.dataclass(frozen=True)
class TenantLimits:
    """How much tenants may have, resource -> amount.

    :ivar general: for all tenants.
    :ivar by_tenant: name of a tenant -> its own limits.
    """
    general: Mapping[str, float] = dataclasses.field(default_factory=dict)
    by_tenant: Mapping[str, Mapping[str, float]] = dataclasses.field(
        default_factory=dict)

    def get(self, tenant_name: str) -> Mapping[str, float]:
        """:return: the limits of a tenant, its own first."""
        return self.by_tenant.get(tenant_name, self.general)


def _readTenantLimits(text: str) -> TenantLimits:
    general: dict[str, float] = {}
    own: dict[str, dict[str, float]] = {}
    for entry in _readNames(text):
        # The name of a tenant may contain any characters.
        name, equals, limit = entry.rpartition('=')
        resource, _, amount = map(str.strip, limit.rpartition(':'))
        number = float(amount)
        if not resource or not 0 <= number < math.inf:
            raise ValueError
        limits = own.setdefault(name.strip(), {}) if equals else general
        limits[resource] = int(number) if number.is_integer() else number
    return TenantLimits(general, {
        name: general | limits for name, limits in own.items()})


KINDS: dict[Any, Kind] = {
    bool: Kind(lambda text: SWITCH[text.lower()], 'true or false'),
    int: Kind(int, 'a whole number'),
    float: Kind(float, 'a number'),
    str: Kind(_readPath, 'a path'),
    tuple[str, ...]: Kind(_readNames, 'a list'),
    Timeouts: Kind(
        _readTimeouts, 'a number of seconds, and TENANT=SECONDS for tenants '
        'with another one, separated by commas'),
    TenantLimits: Kind(
        _readTenantLimits, 'RESOURCE:NUMBER, and TENANT=RESOURCE:NUMBER for '
        'tenants with another limit, separated by commas'),
    addresses.ImageSources: Kind(addresses.ImageSources, 'a list'),
    ImageTenants: Kind(ImageTenants.parse, EXPECTED),
}


def option(default: Any, text: str, unit: str | None = None,
           least: float | None = None, most: float | None = None,
           shown: str | None = None, internal: bool = False) -> Any:
    """Define a setting.

    :param default: the value, or a class that creates it.
    :param text: description in reStructuredText.
    :param unit: of a number.
    :param least: minimum of a number.
    :param most: maximum of a number.
    :param shown: the default in the syntax of zuul.conf, if that differs from
        Python's.
    :param internal: whether to leave it out of the documentation.
    :return: a field of :class:`Settings`.
    """
    metadata = {'text': text, 'unit': unit, 'least': least, 'most': most,
                'shown': shown, 'internal': internal}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def internal(default: float, text: str, unit: str = 'seconds',
             least: float = 0) -> Any:
    """:return: a field for a setting that no operator should need."""
    return option(default, text, unit, least, internal=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the launchers that share a zuul.conf.

    :raises UserError: a value is outside its limits.
    """

    embedded: bool = option(True, '''
        Whether the schedulers run a launcher in their process.''')
    connection_filter: tuple[str, ...] = option((), '''
        The connections that this launcher handles, separated by commas.  By
        default, it handles all of them.''', shown='')
    temp_dir: str = option('/tmp', '''
        The directory for downloaded images.  Each launcher creates its own
        directory there, below one that only its user can access, and removes
        those of launchers that were killed.  The launcher keeps a quarter of
        a GiB of the file system free; downloads by drivers may use it.''')
    command_socket: str = option('/var/lib/zuul/launcher.socket', '''
        The path of the command socket, for a launcher that runs apart from
        the scheduler.''')
    image_size_limit: int = option(SIZE_LIMIT, '''
        The maximum size of an image, also after decompression (bzip2, gzip,
        xz or zstd, whatever its file name).  Decompression may use 256 MiB of
        memory; the launcher rejects an image that needs more.''',
        unit='bytes', least=1)
    image_minimum_rate: int = option(64 << 10, '''
        The minimum rate of a download, averaged over a minute.  The launcher
        gives up an attempt that is slower.  ``0`` allows any rate.
        ''', unit='bytes per second', least=0)
    image_sources: addresses.ImageSources = option(  # noqa: RUF009
        addresses.ImageSources, '''
        The sources from which images may be downloaded, separated by commas:
        host names, addresses, networks, and URLs, which include everything
        below their directory.  ``public`` is the whole Internet.  See
        :ref:`trust`.''', shown='public')
    image_build_tenants: ImageTenants = option(  # noqa: RUF009
        ImageTenants, '''
        The tenants whose jobs may build images of the type ``zuul``:
        ``TENANT`` for the images of all projects, and ``PROJECT=TENANT`` for
        those of one project, for example ``infra,
        opendev.org/opendev/images=kernel``.  The name of a project may lack
        its host.  If no entry concerns the project of an image, each tenant
        with the image may build it.  Launchers send events only to these
        tenants, and schedulers ignore the results of others; both read the
        option.  See :ref:`trust`.''', shown='')
    image_validate_tenants: ImageTenants = option(  # noqa: RUF009
        ImageTenants, '''
        The same for tenants whose jobs may validate images, or report that an
        image needs no validation.''', shown='')
    image_delete_tenants: ImageTenants = option(  # noqa: RUF009
        ImageTenants, '''
        The same for tenants whose jobs may delete the artifacts of images.
        ''', shown='')
    unneeded_image_delay: float = option(3600.0, '''
        The time for which the launcher keeps a build of an image, or an
        upload of it, after the last provider has lost the image: it may have
        been lost by mistake, or a change that adds it may not have merged
        yet.''', unit='seconds', least=0)
    image_delete_attempts: int = option(8, '''
        The number of times that launchers ask jobs to delete the file of a
        build, at growing intervals of 5 minutes to 12 hours.  Each tenant with
        such a job gets a turn at least.  If no job has deleted the file after
        that, ``zuul-nodes images leaks`` lists it as left behind.
        ''', unit='events', least=1)
    require_image_checksums: bool = option(False, '''
        Whether an image that a job returns must have a checksum, ``sha256``
        or ``md5sum`` in the metadata of its artifact.  The launcher verifies
        it even if it has to download the image for that.  Snapshots of nodes
        need no checksum.''')
    unhandled_timeout: float = option(600.0, '''
        A request fails after this time if its nodes belong to a connection
        that no running launcher handles, or to a provider that the launcher
        of the request cannot read or whose cloud has not answered yet.  It
        also fails if no provider has a usable upload of its image for this
        time while no build or upload of the image is under way.''',
        unit='seconds', least=0)
    request_timeout: Timeouts = option(  # noqa: RUF009
        Timeouts, '''
        A request that still waits for nodes after this time fails, and says
        what it has waited for.  ``TENANT=SECONDS`` is the time for the
        requests of one tenant, for example ``14400, example=3600``.  ``0``
        sets no limit.  Labels may have a ``request-timeout`` of their own.
        ''', shown='0')
    tenant_limits: TenantLimits = option(  # noqa: RUF009
        TenantLimits, '''
        The most that the requests of a tenant may use at a time, at all
        providers: ``RESOURCE:NUMBER`` for each tenant, and
        ``TENANT=RESOURCE:NUMBER`` for one tenant, for example ``instances:50,
        example=instances:20, example=cores:80``.  The resources are those of
        ``resource-limits``.  A node counts for the tenant of its request, and
        an idle one for the tenant that it was launched for.  A machine with
        ``slots`` counts as a whole for the tenants that use it, for each in
        proportion to its slots.  Requests that exceed the limit wait, and
        those behind them that fit are served.''', shown='')
    min_ready_limit: int = option(100, '''
        The most nodes of a label that the launcher keeps ready for a tenant,
        whatever its ``min-ready`` is.''', unit='nodes', least=0)
    min_retention_limit: float = option(86400.0, '''
        The longest time that ``min-retention-time`` keeps an idle node, since
        its launch.  Even before, the launcher deletes the node if a request of
        another tenant waits for what it uses.''',
        unit='seconds', least=0)
    capacity_timeout: float = option(86400.0, '''
        If the cloud reports for this time that it lacks the capacity for a
        label, requests that only this provider could serve fail instead of
        waiting for it.  The time is the sum of the launches that fail and the
        pauses between them, since a node of the label was last there.  ``0``
        sets no limit.''', unit='seconds', least=0)
    unreachable_timeout: float = option(600.0, '''
        If all launches at a provider, or of a label there, fail for this time
        because the cloud cannot be reached or cannot answer, as with a status
        of 5xx, requests that only this provider could serve fail instead of
        waiting for it.  The time is the sum of these launches and the pauses
        between them, since the last launch that succeeded; at least
        ``launch-attempts`` launches must have failed.  If Zuul can request an
        alternative nodeset, these are enough.  Other providers serve the
        requests from the first failure on.  ``0`` sets no limit.''',
        unit='seconds', least=0)
    capacity_errors: int = option(10, '''
        The number of launches in a row that must fail for lack of capacity
        before ``capacity_timeout`` applies.''', unit='launches', least=1)
    call_timeout: float = option(600.0, '''
        The time-out of a driver's call, usually to its cloud.''',
        unit='seconds', least=0.001)
    image_timeout: float = option(21600.0, '''
        The time-out for the upload, import, copy or download of one image by
        a driver, and for its download by the launcher.  It must be longer
        than any ``import-timeout`` of the tenants.''',
        unit='seconds', least=0.001)
    endpoint_workers: int = option(8, '''
        The number of threads that call the driver for one endpoint, which is
        for example a region of a cloud.''',
        unit='threads', least=1, most=1000)

    # Calls of drivers

    call_beat: float = internal(0.05, '''
        Delayed calls begin at multiples of this time, so that a thread that
        wakes up finds several of them.''', least=0.001)
    most_hanging_calls: int = internal(100, '''
        When this number of threads of an endpoint hang in calls that were
        given up, only one more thread is used, because a process has a limit
        of threads.''', unit='threads', least=1)

    endpoint_idle_time: float = internal(60.0, '''
        Time after which a thread of an endpoint without calls ends.''')

    # The work queue, other launchers and layouts

    workers: int = internal(8, '''
        Threads of the work queue; most of them wait for ZooKeeper to complete
        a write.''', unit='threads', least=1)
    stop_timeout: float = internal(10.0, '''
        When the launcher stops: time to wait for calls of drivers, and for
        ZooKeeper to reconnect.''')
    stall_timeout: float = internal(60.0, '''
        Time after which a step that has not ended is stuck, so that the
        launcher leaves its share to others.''', least=0.001)
    stall_interval: float = internal(5.0, '''
        Interval between checks for stuck steps.''', least=0.001)
    first_backoff: float = internal(0.5, '''
        First back-off after an error; it doubles each time.''')
    longest_backoff: float = internal(60.0, '''
        Longest back-off after an error.''')
    others_interval: float = internal(10.0, '''
        Interval between updates of the limits that other launchers have read,
        for connections that this launcher does not handle.''')
    layout_first_backoff: float = internal(0.02, '''
        First back-off after a layout cannot be read; it doubles each time.
        ''')
    layout_longest_backoff: float = internal(10.0, '''
        Longest back-off for a layout.''')
    reason_delay: float = internal(5.0, '''
        Time that a request waits before the launcher records why.''')
    reason_interval: float = internal(60.0, '''
        Minimum interval between records of why requests wait.''')

    status_delay: float = internal(2.0, '''
        Time from a change of a provider's limits or pauses to its record.
        ''')
    status_interval: float = internal(60.0, '''
        Minimum interval between records of the limits and pauses of providers.
        ''')

    name_interval: float = internal(60.0, '''
        Interval between look-ups of host names.''')
    limits_lifetime: float = internal(5.0, '''
        Time for which the planner caches the limits that a driver reports.
        ''')

    # Nodes

    provider_first_backoff: float = internal(1.0, '''
        First pause of a provider whose cloud has failed; it doubles each time.
        ''')
    provider_longest_backoff: float = internal(300.0, '''
        Longest pause of a provider.''')
    missing_provider_longest_backoff: float = internal(600.0, '''
        Longest back-off before the deletion of a node whose provider is
        missing; it may come back.''')
    capacity_interval: float = internal(10.0, '''
        Interval at which a node that waits for capacity retries, because some
        changes of usage cause no event.''')
    slot_sync_timeout: float = internal(300.0, '''
        Time-out for the records of a host and of its slots to appear
        together.''')
    drift_grace: float = internal(300.0, '''
        Time for which ready nodes of an old definition are kept.''')
    liveness_timeout: float = internal(5.0, '''
        Time-out of the liveness check before a request gets a node.''')
    liveness_memory: float = internal(30.0, '''
        Time for which a successful liveness check remains valid.''')
    reclaim_interval: float = internal(2.0, '''
        Interval between searches for idle nodes to reclaim while a request
        waits for capacity.''')
    leaving_time: float = internal(60.0, '''
        A node whose deletion takes longer may be stuck, and so may be a static
        machine that does not answer for longer: requests do not wait for its
        capacity.''')
    min_ready_interval: float = internal(0.05, '''
        Minimum interval between counts of the min-ready nodes.''')
    min_ready_pause: float = internal(2.0, '''
        Interval between attempts to launch missing min-ready nodes.''')
    min_ready_first_backoff: float = internal(2.0, '''
        First back-off after a min-ready node has failed; it doubles each time.
        ''')
    min_ready_longest_backoff: float = internal(300.0, '''
        Longest back-off of a label's min-ready nodes at a provider.''')
    min_ready_batch: int = internal(50, '''
        Number of min-ready nodes that are launched before the next count.''',
        unit='nodes', least=1)
    lock_removal_interval: float = internal(10.0, '''
        Interval between attempts to remove the lock of a deleted node, which
        must have no waiters.''')
    snapshot_interval: float = internal(1.0, '''
        Interval between checks of a running snapshot.''')
    delete_timeout: float = internal(600.0, '''
        Time for which failed deletions are retried.  After that the launcher
        removes the record; the clean-up finds what is left by its tags.''')
    unrecorded_time: float = internal(0.02, '''
        Maximum time for which a state machine takes steps without writing
        them to its record.''')
    shortest_poll: float = internal(0.05, '''
        Minimum interval between polls of a cloud.''')
    host_key_retry: float = internal(1.0, '''
        Delay between attempts to connect for a host key scan.''')

    # Endpoints

    cleanup_interval: float = internal(60.0, '''
        Interval between rounds of the clean-up, and minimum time for which a
        resource must be unneeded before it is deleted.''')
    cleanup_longest_backoff: float = internal(3600.0, '''
        Longest back-off between attempts to delete a leaked resource; the
        first is the interval between rounds.''')
    quota_interval: float = internal(300.0, '''
        Interval between requests for the limits of a cloud.''')
    login_first_backoff: float = internal(10.0, '''
        First back-off after a cloud has refused the log-in of this launcher;
        it doubles each time.''')
    login_longest_backoff: float = internal(300.0, '''
        Longest back-off between attempts to log in.''')
    endpoint_progress_timeout: float = internal(600.0, '''
        A task of an endpoint without progress for this time is given up.
        ''')

    # Images

    image_interval: float = internal(60.0, '''
        Interval after which the launcher retries what failed, and repeats
        checks for changes that cause no event.''')
    image_first_backoff: float = internal(300.0, '''
        First back-off after a failed build or upload; it doubles each time.
        ''')
    image_longest_backoff: float = internal(12 * 3600.0, '''
        Longest back-off after a failed build or upload.''')
    image_settle_time: float = internal(10.0, '''
        Time for which an image must be missing before it is built.''')
    image_lock_backoff: float = internal(2.0, '''
        Back-off after the record of an image was found to be locked.''')
    image_adoption_age: float = internal(300.0, '''
        Time that a scheduler has to write the uploads of a build.''')
    image_use_interval: float = internal(5.0, '''
        Interval between checks whether a node that is being launched still
        uses an image.''')
    download_chunk_size: int = internal(100 * BLOCK_SIZE, '''
        Size of the part of an image that one request downloads.''',
        unit='bytes', least=1)
    download_block_size: int = internal(BLOCK_SIZE, '''
        Number of bytes of a download that are written at once.''',
        unit='bytes', least=1)
    download_connections: int = internal(5, '''
        Number of concurrent requests of one download.''',
        unit='requests', least=1)
    download_attempts: int = internal(5, '''
        Number of interruptions without progress before a download fails.''',
        unit='times', least=1)
    download_check_interval: float = internal(1.0, '''
        Interval between checks whether a download is still needed.''')
    download_window: float = internal(60.0, '''
        Time over which the rate of a download is measured.''')
    progress_interval: float = internal(30.0, '''
        Interval between log lines about the progress of long work.''')
    place_time: float = internal(3600.0, '''
        Time after which the upload of an artifact occupies none of the places
        for artifacts any more.''')
    shared_place_time: float = internal(60.0, '''
        The same if its tenant occupies all places while another tenant waits.
        ''')
    upload_attempts: int = internal(3, '''
        Number of attempts before an upload fails.''',
        unit='times', least=1)
    upload_first_backoff: float = internal(5.0, '''
        Back-off before the second attempt of an upload; it doubles each time.
        ''')

    @classmethod
    def read(cls, config: configparser.ConfigParser) -> 'Settings':
        """Read the settings.

        :param config: zuul.conf
        :raises UserError: it has an invalid value.
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
    """:return: a list of the fields of the documented settings."""
    return [field for field in dataclasses.fields(Settings)
            if not field.metadata['internal']]


def describeValue(field: dataclasses.Field[Any]) -> str:
    """:return: a description of the valid values of an option."""
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
    """:return: the default, in the syntax of zuul.conf."""
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
        # The reason describes the value completely.
        return UserError(f'zuul.conf: {reason}')
    return UserError(
        f'zuul.conf: "{field.name}" in [{SECTION}] is "{value}"; it must be '
        f'{describeValue(field)}')
