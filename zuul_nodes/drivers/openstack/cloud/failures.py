"""The meaning of error messages of OpenStack's services.

This is the one table of the driver.  The services have no error codes, so the
driver recognizes a message by a part of it.  To add a message, add a row with
the page or the source that documents it, and with the message itself: a test
looks up all examples, and expects each to match its own row.
"""

import dataclasses
import re

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)


class NotFoundError(DriverError):
    """The resource does not exist, or its service cannot find it now."""


class ExistsError(TemporaryError):
    """The resource exists already, or another call is changing it."""


FAULTS = 'https://docs.openstack.org/api-guide/compute/faults.html'
SERVERS = ('https://docs.openstack.org/api-ref/compute/'
           '#create-server')
NOVA = 'https://opendev.org/openstack/nova/src/branch/master/nova/exception.py'
VALIDATION = ('https://opendev.org/openstack/nova/src/branch/master/nova/api/'
              'validation/validators.py')
CINDER = ('https://opendev.org/openstack/cinder/src/branch/master/cinder/'
          'exception.py')
NEUTRON = ('https://opendev.org/openstack/neutron-lib/src/branch/master/'
           'neutron_lib/exceptions/__init__.py')
LIMITS = 'https://docs.openstack.org/nova/latest/admin/quotas.html'
BOOT_FROM_VOLUME = ('https://docs.openstack.org/nova/latest/configuration/'
                    'config.html#DEFAULT.block_device_allocate_retries')


@dataclasses.dataclass(frozen=True)
class Saying:
    """A row of the table.

    :ivar type kind: the class of the error.
    :ivar str part: regular expression for a part of a message, in lower
        case.
    :ivar str source: URL that documents the message.
    :ivar tuple examples: messages as services send them.
    """

    kind: type
    part: str
    source: str
    examples: tuple


# The first matching row applies, so permanent errors about size come before
# temporary ones about quota.
SAYINGS = (
    Saying(PermanentError, 'metadata items', LIMITS, (
        'Maximum number of metadata items exceeds 128',)),
    Saying(PermanentError,
           r'larger than (maximum allowed limit|volume size)|too small for'
           r'|(image|flavor).* (is|are) too (large|big|small)', CINDER, (
               'Invalid input received: Size of specified image 8GB is '
               'larger than volume size 4GB.',
               'Requested volume size 900 is larger than maximum allowed '
               'limit 500.',
               "Flavor's disk is too small for requested image.")),
    Saying(PermanentError, 'is unacceptable|is not active', NOVA, (
        'Build of instance 1 aborted: Image 1 is unacceptable: Image not in '
        'a supported format',
        'Image 1 is not active.')),
    Saying(PermanentError, 'not allowed to create', NOVA, (
        'It is not allowed to create an interface on external network 1',)),
    # The status is 409, as of temporary errors.
    Saying(PermanentError, 'to be more specific', SERVERS, (
        'Multiple possible networks found, use a Network ID to be more '
        'specific.',
        "Multiple security_group matches found for name 'default', use an "
        'ID to be more specific.')),
    Saying(PermanentError, '(image|flavor|network|keypair) .*could not be '
                           'found|security group .* not found'
                           '|can not find requested image', NOVA, (
        'Image 1 could not be found.',
        'Flavor m1.huge could not be found.',
        'Network 1 could not be found.',
        'Security group 1 not found for project 2.',
        'Can not find requested image')),
    Saying(PermanentError, 'is not reachable from subnet', NEUTRON, (
        'External network 1 is not reachable from subnet 2.  Therefore, '
        'cannot associate Port 3 with a Floating IP.',)),
    # Nova's scheduler uses the same words for a full cloud and for a flavor
    # that fits on no host: see ``drivers.framework.capacity``.
    Saying(CapacityError, 'no valid host|no allocation candidates'
                          '|not enough hosts', FAULTS, (
        'No valid host was found. There are not enough hosts available.',
        'No valid host was found.',)),
    Saying(CapacityError, 'exhausted all hosts|max scheduling attempts',
           NOVA, (
               'Exceeded maximum number of retries. Exhausted all hosts '
               'available for retrying build failures for instance 1.',
               'Exceeded max scheduling attempts 3 for instance 1.')),
    Saying(CapacityError, 'insufficient compute resources'
                          '|policy was violated', NOVA, (
        'Insufficient compute resources: Free vcpu 0.00 VCPU < requested 8 '
        'VCPU.',
        'Anti-affinity instance group policy was violated.')),
    Saying(CapacityError, 'no valid backend|no weighed backends', CINDER, (
        'No valid backend was found. No weighed backends available',)),
    Saying(QuotaError, r'quota|limit ?exceeded|overlimit'
                       r'|maximum number of (volumes|instances|ports)',
           LIMITS, (
               'Quota exceeded for cores: Requested 8, but already used 4 '
               'of 8 cores',
               'Quota exceeded, too many servers in group',
               'VolumeLimitExceeded: Maximum number of volumes allowed (10) '
               "exceeded for quota 'volumes'.",
               'Requested volume or snapshot exceeds allowed gigabytes '
               'quota. Requested 40G, quota is 100G and 80G has been '
               'consumed.',
               'Maximum number of ports exceeded')),
    Saying(QuotaError, r"no (more|fixed) ip addresses"
                       r'|unable to find any ip address'
                       r'|(no more|zero) floating ips', NEUTRON, (
        'No more IP addresses available on network 1.',
        'No fixed IP addresses available for network: 1',
        'Unable to find any IP address on external network 1.',
        'No more floating IPs available.')),
    Saying(TemporaryError, 'did not finish being created', BOOT_FROM_VOLUME, (
        'Build of instance 1 aborted: Volume 1 did not finish being created '
        'even after we waited 187 seconds or 61 attempts. And its status is '
        'downloading.',
        'Build of instance 1 aborted: Volume 1 did not finish being created '
        'even after we waited 3 seconds or 2 attempts. And its status is '
        'error.')),
    Saying(TemporaryError, 'failed to allocate the network'
                           '|virtual interface creation failed', NOVA, (
        'Build of instance 1 aborted: Failed to allocate the network(s), not '
        'rescheduling.',
        'Virtual Interface creation failed')),
    Saying(TemporaryError, 'messagingtimeout|timed out waiting for a reply'
                           '|connection to the hypervisor'
                           '|not mapped to any cell', NOVA, (
        'MessagingTimeout: Timed out waiting for a reply to message ID 1',
        'Connection to the hypervisor is broken on host: compute-1',
        "Host 'compute-1' is not mapped to any cell")),
    Saying(TemporaryError, 'volume .*could not be attached', NOVA, (
        'Volume 1 could not be attached. Reason: 1',)),
    Saying(PermanentError, 'zone is not available'
                           '|invalid (imageref|flavorref|key_name) provided',
           SERVERS, (
               'The requested availability zone is not available',
               'Invalid imageRef provided.',
               'Invalid key_name provided.')),
    Saying(PermanentError, 'invalid input|malformed request', VALIDATION, (
        "Invalid input for field/attribute name. Value: 1. 1 is not of type "
        "'string'",
        "Invalid input received: Availability zone 'x' is invalid.",
        'Malformed request body')),
)
_PATTERNS = tuple((re.compile(row.part), row) for row in SAYINGS)
# Meaning of an HTTP status if no row matches the message; source: FAULTS.  A
# proxy or a service that has just started may send any other status once.
STATUSES = {401: LoginError, 404: NotFoundError, 409: ExistsError}
# Nova 2.1 reports too many requests with 403 or 413 as well.
TOO_MANY = re.compile('too many requests|rate limit|retry after', re.I)


def find(message):
    """
    :param str message: of an answer, or of the fault of a server.
    :return: the first matching :class:`Saying`, or None.
    """
    message = message.lower()
    return next((row for pattern, row in _PATTERNS
                 if pattern.search(message)), None)


def getKind(message):
    """
    :param str message: as of :func:`find`.
    :return: the class of the error; None for an unknown message, which counts
        as a failed attempt.
    """
    row = find(message)
    return row and row.kind


def getKindOfAnswer(status, message):
    """
    :param int status: of HTTP, or 0.
    :return: the class of the error for an answer; None if it is unknown.
    """
    if status == 429 or status >= 500 or (
            status in (403, 413) and TOO_MANY.search(message)):
        return TemporaryError
    return getKind(message) or STATUSES.get(status)
