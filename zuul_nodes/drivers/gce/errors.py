"""What the errors of Google's APIs mean."""

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)

NOT_READY = 'resourceNotReady'
# https://cloud.google.com/compute/docs/troubleshooting/api-errors
# Reasons of refused calls, and codes of operations that have failed.
KINDS = {
    'quotaExceeded': QuotaError,
    'QUOTA_EXCEEDED': QuotaError,
    'QUOTA_LIMIT_EXCEEDED': QuotaError,
    'IP_SPACE_EXHAUSTED': QuotaError,
    'IP_SPACE_EXHAUSTED_WITH_DETAILS': QuotaError,
    'ZONE_RESOURCE_POOL_EXHAUSTED': CapacityError,
    'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS': CapacityError,
    'rateLimitExceeded': TemporaryError,
    'userRateLimitExceeded': TemporaryError,
    'concurrentLimitExceeded': TemporaryError,
    'backendError': TemporaryError,
    'internalError': TemporaryError,
    NOT_READY: TemporaryError,
    'resourceInUseByAnotherResource': TemporaryError,
    'RATE_LIMIT_EXCEEDED': TemporaryError,
    'RESOURCE_OPERATION_RATE_EXCEEDED': TemporaryError,
    'RESOURCE_NOT_READY': TemporaryError,
    'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE': TemporaryError,
    'INTERNAL_ERROR': TemporaryError,
    'RESOURCE_NOT_FOUND': PermanentError,
    'PERMISSIONS_ERROR': PermanentError,
    'CONDITION_NOT_MET': PermanentError,
}
# Of HTTP: nobody can log in, it is not allowed, also by a policy, there is no
# such thing, or it is too large.
PERMANENT = (400, 401, 403, 404, 405, 410, 412, 413)
MISSING = 404
CONFLICT = 409


def translate(error):
    """
    :param Exception error: raised by Google's libraries for an answer.
    :return: a :class:`DriverError` that says what it means, with ``status``
        and ``reason`` of it.
    """
    status = int(getattr(error, 'code', None) or 0)
    errors = [each for each in getattr(error, 'errors', ())
              if isinstance(each, dict)]
    reasons = [each.get('reason') for each in errors]
    # That of the exception begins with a long URL.
    message = next((each['message'] for each in errors
                    if each.get('message')), None) or str(error)
    kind = next((KINDS[reason] for reason in reasons if reason in KINDS), None)
    kind = kind or next((KINDS[code] for code in (
        'ZONE_RESOURCE_POOL_EXHAUSTED', 'QUOTA_EXCEEDED')
        if code in message), None)
    if kind is None:
        if status == 429 or status >= 500:
            kind = TemporaryError
        else:
            kind = PermanentError if status in PERMANENT else DriverError
    result = kind(f'GCE: {message}')
    result.status = status
    result.reason = reasons[0] if reasons else None
    return result


def getFailure(operation):
    """
    :param operation: that has ended.
    :return: None, or a :class:`DriverError` that says why it has failed.
    """
    found = list(operation.error.errors)
    if not found and not operation.http_error_status_code:
        return None
    kind = next((KINDS[each.code] for each in found if each.code in KINDS),
                DriverError)
    return kind('GCE: ' + ('; '.join(
        f'{each.code}: {each.message}' for each in found)
        or operation.http_error_message))


def isMissing(error):
    """:return: whether there is no such thing."""
    return getattr(error, 'status', None) == MISSING


def isGone(error):
    """
    :param DriverError error: of a call that removes something.
    :return: whether there is no such thing, or it is being removed.
    """
    return isMissing(error) or getattr(error, 'reason', None) == NOT_READY


def isConflict(error):
    """:return: whether there is something of that name already."""
    return getattr(error, 'status', None) == CONFLICT
