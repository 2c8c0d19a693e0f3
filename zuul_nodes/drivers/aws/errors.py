"""The errors of AWS as those that the launcher knows."""

import contextlib

from botocore.exceptions import ClientError

from zuul_nodes import messages
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.aws.codes import Kind, getKind, shorten

ERRORS = {
    Kind.QUOTA: QuotaError,
    Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError,
    Kind.PERMANENT: PermanentError,
    Kind.NOT_HERE: PermanentError,
    Kind.NOT_FOUND: PermanentError,
    Kind.NOT_YET: DriverError,
    Kind.EXISTS: PermanentError,
    Kind.ATTEMPT: DriverError,
}
# There are no spot instances to be had for that price, or no more of them;
# on demand there may be.
OF_SPOT = frozenset({'MaxSpotInstanceCountExceeded', 'SpotMaxPriceTooLow'})
# Something else has been asked for by this token.
TOKEN_USED = 'IdempotentParameterMismatch'


def getCode(error):
    """:return: the error code, empty if it is no answer of AWS."""
    if isinstance(error, ClientError):
        return error.response.get('Error', {}).get('Code', '')
    return getattr(error, 'code', '') if isinstance(
        error, DriverError) else ''


def translate(error):
    """
    :param Exception error: of whatever kind.
    :return: what it means, a :class:`DriverError`; or itself if it is no
        answer of AWS.
    """
    if not isinstance(error, ClientError):
        return error
    status = error.response.get('ResponseMetadata', {}).get(
        'HTTPStatusCode', 0)
    said = error.response.get('Error', {})
    return makeError(getCode(error), said.get('Message', ''), status)


def makeError(code, message, status=0):
    """
    :param str code: of an error, or of why an instance has ended.
    :param str message: what AWS says.
    :param int status: of HTTP, if it is known.
    :return: a :class:`DriverError` with the ``code``.
    """
    # The account may be told more, at length, in a message of its own.
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
    """:return: whether another subnet or zone may have room."""
    return not isOfSpot(error) and getKind(getCode(error)) in (
        Kind.CAPACITY, Kind.NOT_HERE)


def isOfSpot(error):
    """:return: whether no spot instance is to be had, wherever."""
    return shorten(getCode(error)) in OF_SPOT


def isGone(error):
    """:return: whether there is no such thing as was to be removed."""
    return getKind(getCode(error)) in (Kind.NOT_FOUND, Kind.NOT_YET)


def exists(error):
    """:return: whether there is such a thing as was to be made."""
    return getKind(getCode(error)) is Kind.EXISTS


@contextlib.contextmanager
def translated():
    """:raises DriverError: in place of answers of AWS."""
    try:
        yield
    except ClientError as error:
        raise translate(error) from error


@contextlib.contextmanager
def suppressGone():
    """What is gone need not be deleted.

    :raises DriverError: of other answers of AWS.
    """
    try:
        yield
    except ClientError as error:
        if not isGone(error):
            raise translate(error) from error
