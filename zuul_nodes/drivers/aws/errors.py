"""Translate errors of AWS into errors of the driver API."""

import contextlib

from botocore.exceptions import ClientError

from zuul_nodes import messages
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.aws.codes import Kind, getKind, shorten


class ExpiredError(LoginError, TemporaryError):
    """The credentials have expired; the library may fetch new ones."""


ERRORS = {
    Kind.QUOTA: QuotaError,
    Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError,
    Kind.PERMANENT: PermanentError,
    Kind.NOT_HERE: PermanentError,
    Kind.NOT_FOUND: PermanentError,
    Kind.NOT_YET: DriverError,
    Kind.EXISTS: PermanentError,
    Kind.LOGIN: LoginError,
    Kind.EXPIRED: ExpiredError,
    Kind.ATTEMPT: DriverError,
}
# Spot instances are not available, but on-demand instances may be.
OF_SPOT = frozenset({'MaxSpotInstanceCountExceeded', 'SpotMaxPriceTooLow'})
# The token was used before with other parameters.
TOKEN_USED = 'IdempotentParameterMismatch'


def getCode(error):
    """:return: the error code; empty if the error is not an answer of AWS."""
    if isinstance(error, ClientError):
        return error.response.get('Error', {}).get('Code', '')
    return getattr(error, 'code', '') if isinstance(
        error, DriverError) else ''


def translate(error):
    """
    :param Exception error: of any type.
    :return: a :class:`DriverError` of the same meaning; the error itself if it
        is not an answer of AWS.
    """
    if not isinstance(error, ClientError):
        return error
    status = error.response.get('ResponseMetadata', {}).get(
        'HTTPStatusCode', 0)
    said = error.response.get('Error', {})
    return makeError(getCode(error), said.get('Message', ''), status)


def makeError(code, message, status=0):
    """
    :param str code: of an error, or of the termination of an instance.
    :param str message: of AWS.
    :param int status: of HTTP, if it is known.
    :return: a :class:`DriverError` with the ``code``.
    """
    # AWS may add an encoded message with details of the account.
    text = messages.withoutSecrets(message or 'AWS does not say why').strip()
    error = _getClass(code, status)(f'AWS: {text} ({code})')
    error.code = code
    return error


def _getClass(code, status):
    kind = getKind(code)
    if kind is None:
        return TemporaryError if status >= 500 else DriverError
    return ERRORS[kind]


def isElsewhereBetter(error):
    """:return: whether another subnet or zone may have capacity."""
    return not isOfSpot(error) and getKind(getCode(error)) in (
        Kind.CAPACITY, Kind.NOT_HERE)


def isOfSpot(error):
    """:return: whether spot instances are unavailable everywhere."""
    return shorten(getCode(error)) in OF_SPOT


def isGone(error):
    """:return: whether the resource does not exist."""
    return getKind(getCode(error)) in (Kind.NOT_FOUND, Kind.NOT_YET)


def exists(error):
    """:return: whether the resource exists already."""
    return getKind(getCode(error)) is Kind.EXISTS


@contextlib.contextmanager
def translated():
    """:raises DriverError: replaces an error of AWS."""
    try:
        yield
    except ClientError as error:
        raise translate(error) from error


@contextlib.contextmanager
def suppressGone():
    """Ignore that a resource does not exist.

    :raises DriverError: replaces other errors of AWS.
    """
    try:
        yield
    except ClientError as error:
        if not isGone(error):
            raise translate(error) from error
