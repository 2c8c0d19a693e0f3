"""What the errors of OpenStack mean."""

import re

from keystoneauth1 import exceptions as keystone
from openstack import exceptions

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)

# Parts of what services say, in lower case, and what that means.  The first
# that fits counts.
SAYINGS = (
    # Nova's scheduler and Placement; "Exceeded maximum number of retries.
    # Exhausted all hosts available for retrying build failures", "Insufficient
    # compute resources: Free vcpu 0.00 VCPU < requested 8 VCPU."
    (CapacityError, re.compile(
        'no valid host|exhausted all hosts|insufficient compute resources'
        '|max scheduling attempts|not enough hosts|no allocation candidates'
        '|policy was violated')),
    # Nova, Cinder, Neutron: "Quota exceeded for cores", "Quota exceeded for
    # resources: ['port']", "VolumeLimitExceeded", "Maximum number of ports
    # exceeded", "No more IP addresses available on network", "No fixed IP
    # addresses available for network", "Unable to find any IP address on
    # external network".
    (QuotaError, re.compile(
        r'quota|ports exceeded|limit ?exceeded|overlimit'
        r'|maximum number of (volumes|instances|ports)'
        r'|no (more|fixed) ip addresses|unable to find any ip address'
        r'|insufficient.*resources')),
    # Of servers that were begun: the network or a disk has failed.
    (TemporaryError, re.compile(
        'failed to allocate the network|virtual interface creation failed'
        '|messagingtimeout|timed out waiting for a reply'
        '|connection to the hypervisor|volume .*could not be attached')),
    # "Multiple possible networks found, use a Network ID to be more
    # specific", which comes with 409; and of security groups.
    (PermanentError, re.compile(
        'is unacceptable|too small for|is not active|not allowed'
        '|to be more specific|image .*could not be found'
        '|flavor .*could not be found')),
)
# There is nothing there, it is not allowed, or it can not be.
PERMANENT = (400, 401, 403, 404, 405, 410, 413)
# Nova 2.1 says with 413 that there were too many requests, as well as 429.
TOO_MANY = re.compile('too many requests|rate limit|retry after', re.I)

# There is no such service, or it tells us nothing.
ABSENT = (keystone.EndpointNotFound, exceptions.EndpointNotFound,
          exceptions.ServiceDisabledException, exceptions.NotFoundException,
          exceptions.ForbiddenException)


def isAbsent(error):
    """:return: whether an error, or that which it was made of, says that
        the cloud does not have something at all."""
    return any(isinstance(each, ABSENT) for each in (error, error.__cause__))


def translate(error):
    """
    :param Exception error: raised by openstacksdk or below.
    :return: a :class:`DriverError` that says what it means, with ``status``
        of HTTP if there was an answer.
    """
    if isinstance(error, DriverError):
        return error
    if type(error) is exceptions.SDKException and isinstance(
            error.__context__, keystone.ClientException):
        # Logging in has failed; it says less.
        error = error.__context__
    status = getattr(error, 'status_code', None) or getattr(
        error, 'http_status', None) or 0
    message = getattr(error, 'details', None) or getattr(
        error, 'message', None) or str(error)
    if not isinstance(message, str):
        message = str(error)
    result = _getKind(error, status, message)(f'OpenStack: {message}')
    result.status = status
    return result


def _getKind(error, status, message):
    if isinstance(error, keystone.EndpointNotFound
                  | keystone.MissingRequiredOptions
                  | keystone.Unauthorized | exceptions.ConfigException):
        return PermanentError
    if status == 429 or status >= 500 or (
            status in (403, 413) and TOO_MANY.search(message)):
        return TemporaryError
    if not status and isinstance(
            error, keystone.ConnectFailure | keystone.SSLError
            # What is there at all could not be asked.
            | keystone.DiscoveryFailure
            | keystone.RetriableConnectionFailure
            | keystone.UnknownConnectionError | exceptions.ResourceTimeout):
        return TemporaryError
    if kind := getKind(message):
        return kind
    if status in PERMANENT:
        return PermanentError
    # Somebody else is at it.
    return TemporaryError if status == 409 else DriverError


def getKind(message):
    """
    :param str message: of an answer, or of the fault of a server.
    :return: the class of the error that it means; None for a failed
        attempt, of which nobody knows more.
    """
    message = message.lower()
    return next((kind for kind, pattern in SAYINGS
                 if pattern.search(message)), None)


class Translation:
    """Errors of openstacksdk become ours on the way."""

    def __enter__(self):
        return self

    def __exit__(self, cls, error, traceback):
        if isinstance(error, exceptions.SDKException
                      | keystone.ClientException):
            raise translate(error) from error


def check(response):
    """
    :param response: of a call by a proxy of openstacksdk.
    :return: the same.
    :raises HttpException: it is an error.
    """
    exceptions.raise_from_response(response)
    return response
