"""The meaning of errors of Google's APIs, in one table.

Sources, all below https://cloud.google.com/compute/:

* docs/troubleshooting/troubleshooting-vm-creation,
* docs/troubleshooting/troubleshooting-resource-availability,
* docs/troubleshooting/troubleshooting-bulk-vm-creation,
* docs/troubleshooting/api-errors and operations-quota,

and Google's own autoscaler of Kubernetes.
"""

import enum
import re

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)


class Kind(enum.Enum):
    """The meaning of an error."""

    #: The project has reached a limit.
    QUOTA = 'quota'
    #: The zone has no capacity now; another one may have.
    CAPACITY = 'capacity'
    #: The same call may succeed later.
    TEMPORARY = 'temporary'
    #: The call names a mistake, and does not succeed until it is corrected.
    PERMANENT = 'permanent'
    #: The credentials are not accepted.
    LOGIN = 'login'
    #: The resource does not exist.
    MISSING = 'missing'
    #: A resource of that name exists already.
    EXISTS = 'exists'
    #: None of these: another attempt may succeed.
    UNKNOWN = 'unknown'


ERRORS = {
    Kind.QUOTA: QuotaError, Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError, Kind.PERMANENT: PermanentError,
    Kind.LOGIN: LoginError,
    Kind.MISSING: DriverError, Kind.EXISTS: DriverError,
    Kind.UNKNOWN: DriverError}
NOT_READY = 'RESOURCE_NOT_READY'
# Reasons of refused calls, and codes of failed operations, as
# :func:`normalize` spells them.
KINDS = {
    'QUOTA_EXCEEDED': Kind.QUOTA,
    'QUOTA_LIMIT_EXCEEDED': Kind.QUOTA,
    # Of a subnetwork: deleted instances release their addresses.
    'IP_SPACE_EXHAUSTED': Kind.QUOTA,

    'RESOURCE_POOL_EXHAUSTED': Kind.CAPACITY,
    'STOCKOUT': Kind.CAPACITY,
    'INSUFFICIENT_CAPACITY': Kind.CAPACITY,
    'RESOURCE_AVAILABILITY': Kind.CAPACITY,

    'RATE_LIMIT_EXCEEDED': Kind.TEMPORARY,
    'USER_RATE_LIMIT_EXCEEDED': Kind.TEMPORARY,
    'CONCURRENT_LIMIT_EXCEEDED': Kind.TEMPORARY,
    'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED': Kind.TEMPORARY,
    'RESOURCE_OPERATION_RATE_EXCEEDED': Kind.TEMPORARY,
    'BACKEND_ERROR': Kind.TEMPORARY,
    'INTERNAL_ERROR': Kind.TEMPORARY,
    'UNAVAILABLE': Kind.TEMPORARY,
    'SERVICE_UNAVAILABLE': Kind.TEMPORARY,
    'DEADLINE_EXCEEDED': Kind.TEMPORARY,
    'OPERATION_IN_PROGRESS': Kind.TEMPORARY,
    NOT_READY: Kind.TEMPORARY,
    'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE': Kind.TEMPORARY,

    'INVALID_FIELD_VALUE': Kind.PERMANENT,
    'INVALID_PARAMETER': Kind.PERMANENT,
    'INVALID_USAGE': Kind.PERMANENT,
    # A policy of the organization forbids it.
    'CONDITION_NOT_MET': Kind.PERMANENT,
    'ACCESS_NOT_CONFIGURED': Kind.PERMANENT,
    'SERVICE_DISABLED': Kind.PERMANENT,
    'BILLING_DISABLED': Kind.PERMANENT,

    'AUTH_ERROR': Kind.LOGIN,
    'UNAUTHENTICATED': Kind.LOGIN,

    'NOT_FOUND': Kind.MISSING,
    'RESOURCE_NOT_FOUND': Kind.MISSING,

    'ALREADY_EXISTS': Kind.EXISTS,
    'RESOURCE_ALREADY_EXISTS': Kind.EXISTS,

    'FIELD_SIZE_TOO_LARGE': Kind.PERMANENT,

    # Statuses of HTTP, for calls whose reason says no more than the status, as
    # "invalid" and "forbidden" do.
    401: Kind.LOGIN, 404: Kind.MISSING, 408: Kind.TEMPORARY,
    429: Kind.TEMPORARY,
}
# Prefixes and suffixes that do not change the meaning of a code.
VARIANT = re.compile('^(GCE|GPU|REGION|ZONE)_|_WITH_DETAILS$')
# A message may contain the code of another error.
CODE = re.compile(r'\b[A-Z]+(?:_[A-Z]+)+\b')
# A message that names the mistake, where the reason does not.
MISTAKE = re.compile("Invalid value for|resource '[^']+' was not found"
                     '|cannot be found|does not exist|No such object'
                     '|not compatible')
# A limit that deletions do not help with: the region does not have the
# resource, or the project has never requested any.
NO_QUOTA = re.compile(r'\bLimit: 0(?:\.0+)?(?!\.?\d)')


def normalize(code):
    """
    :param str code: of an error, or its reason.
    :return: the spelling of the code in :data:`KINDS`.
    """
    snake = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', code).upper()
    return VARIANT.sub('', snake)


def getKind(codes, message, status=None):
    """
    :param codes: codes and reasons, the most important first.
    :param str message: of the error.
    :param int status: of HTTP, if it was a call.
    :return: the :class:`Kind` of an error.
    """
    names = [*map(normalize, codes), *map(normalize, CODE.findall(message)),
             status]
    kind = next((KINDS[name] for name in names if name in KINDS),
                Kind.TEMPORARY if (status or 0) >= 500 else Kind.UNKNOWN)
    said = {Kind.QUOTA: NO_QUOTA, Kind.UNKNOWN: MISTAKE}.get(kind)
    if said and said.search(message):
        return Kind.PERMANENT
    return kind


def _makeError(codes, message, status=None):
    kind = getKind(codes, message, status)
    is_named = kind is Kind.MISSING and MISTAKE.search(message)
    result = (PermanentError if is_named else ERRORS[kind])(f'GCE: {message}')
    result.kind = kind
    result.codes = frozenset(map(normalize, codes))
    return result


def translate(error):
    """
    :param Exception error: raised by Google's libraries for an answer.
    :return: a :class:`DriverError` of the same meaning, with ``kind`` and
        ``codes``.
    """
    errors = [each for each in getattr(error, 'errors', None) or ()
              if isinstance(each, dict)]
    codes = [each.get('reason') for each in errors]
    codes.append(getattr(error, 'reason', None))
    # The message of the exception itself begins with a long URL.
    message = next((each['message'] for each in errors
                    if each.get('message')), None) or str(error)
    return _makeError([code for code in codes if isinstance(code, str)],
                      message, int(getattr(error, 'code', None) or 0))


def getFailure(operation):
    """
    :param operation: that has ended.
    :return: None, or a :class:`DriverError` with the reason of its failure.
    """
    found = list(operation.error.errors)
    if not found and not operation.http_error_status_code:
        return None
    return _makeError(
        [each.code for each in found], '; '.join(
            f'{each.code}: {each.message}' for each in found)
        or operation.http_error_message)


def isMissing(error):
    """:return: whether the resource does not exist."""
    return getattr(error, 'kind', None) is Kind.MISSING


def isGone(error):
    """
    :param DriverError error: of a deletion.
    :return: whether the resource does not exist, or is being deleted.
    """
    return isMissing(error) or NOT_READY in getattr(error, 'codes', ())


def isConflict(error):
    """:return: whether a resource of that name exists already."""
    return getattr(error, 'kind', None) is Kind.EXISTS
