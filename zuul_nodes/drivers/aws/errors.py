"""What the error codes of AWS mean.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

import re

from botocore.exceptions import ClientError

from zuul_nodes import messages
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)

# A zone or a subnet has no room.
CAPACITY = frozenset({
    'InsufficientAddressCapacity', 'InsufficientCapacity',
    'InsufficientFreeAddressesInSubnet', 'InsufficientHostCapacity',
    'InsufficientInstanceCapacity', 'InsufficientReservedInstanceCapacity',
    'InsufficientVolumeCapacity', 'SpotInstanceTermination',
    'UnfulfillableCapacity'})
# It offers no such thing, or is not there any more.
UNSUPPORTED = frozenset({
    'InvalidSubnetID.NotFound', 'Unsupported',
    'UnsupportedHostConfiguration'})
# There are none to be had for that price, or no more of them; on demand
# there may be.
OF_SPOT = frozenset({'MaxSpotInstanceCountExceeded', 'SpotMaxPriceTooLow'})
LIMITS = re.compile(r'LimitExceeded$|QuotaExceeded$|^MaxSpot\w*Exceeded$'
                    r'|^\w+PerRegionExceeded$')
TEMPORARY = frozenset({
    'EC2ThrottledException', 'InternalError', 'InternalFailure',
    'InvalidAMIID.Unavailable', 'PendingVerification', 'RequestExpired',
    'RequestLimitExceeded', 'RequestThrottled',
    'RequestThrottledException', 'RequestTimeout', 'ServiceUnavailable',
    'SlowDown', 'Throttling', 'ThrottlingException',
    'TooManyRequestsException', 'Unavailable'})
# Those that AWS does not know from one moment to the next, for what is new
# takes its time to be known everywhere; and the one of disks that can't
# be decrypted, which is called as those of AWS's own troubles are.
ATTEMPT = frozenset({
    'Client.InternalError', 'InvalidAMIID.NotFound', 'InvalidHostID.NotFound',
    'InvalidInstanceID.NotFound', 'InvalidLaunchTemplateName.NotFoundException'
})
PERMANENT = frozenset({
    'AccessDenied', 'AccessDeniedException', 'AuthFailure', 'Blocked',
    'ExpiredToken', 'MissingParameter', 'OperationNotPermitted',
    'OptInRequired', 'SignatureDoesNotMatch', 'UnauthorizedOperation',
    'UnrecognizedClientException', 'VPCIdNotSpecified'})
# There is no such thing any more, or there can be none.
GONE = re.compile(
    r'NotFound$|Malformed$|^InvalidAMIID\.Unavailable$|^NoSuchKey$')
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
    error = _getKind(code, status)(f'AWS: {text} ({code})')
    error.code = code
    return error


def _getKind(code, status):
    code = _shorten(code)
    if code in ATTEMPT:
        return DriverError
    if code in CAPACITY or code == 'SpotMaxPriceTooLow':
        return CapacityError
    if code in TEMPORARY:
        return TemporaryError
    if LIMITS.search(code):
        return QuotaError
    if code in PERMANENT | UNSUPPORTED or code.startswith('Invalid'):
        return PermanentError
    return TemporaryError if status >= 500 else DriverError


def _shorten(code):
    """:return: the code, without who is to blame."""
    return code if code in ATTEMPT else re.sub(
        r'^(Client|Server)\.', '', code)


def isElsewhereBetter(error):
    """:return: whether another subnet or zone may have room."""
    return _shorten(getCode(error)) in CAPACITY | UNSUPPORTED


def isOfSpot(error):
    """:return: whether no spot instance is to be had, wherever."""
    return _shorten(getCode(error)) in OF_SPOT


def isGone(error):
    """:return: whether there is no such thing as was to be removed."""
    return bool(GONE.search(getCode(error)))
