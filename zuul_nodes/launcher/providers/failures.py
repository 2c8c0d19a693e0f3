"""Classifies the errors of drivers.

Quota: a limit of the provider is used up; wait.  Capacity: the cloud has no
machine for this label now; wait.  Temporary: the cloud cannot answer now;
retry later or at another provider.  Permanent: the cloud names a mistake; one
more attempt confirms it.  Moved: the provider is not where the launch was
planned any more; this counts as no failure, and the request is planned again.
Any other error counts as one launch attempt, of which a provider has a limited
number.
"""

import enum
import socket
import ssl

from zuul.exceptions import QuotaException

from zuul_nodes import messages
from zuul_nodes.drivers import GoneError, LoginError

# Attributes with the HTTP status of an answer, in the libraries of clouds.
STATUS_ATTRIBUTES = ('http_status', 'status_code', 'status', 'code')
# Request time-out, too early, too many requests; in addition to 5xx.
TEMPORARY_STATUS = (408, 425, 429)
# Not found, gone.
GONE_STATUS = (404, 410)
# By name, because a launcher may not have these libraries installed.
CONNECTION_ERRORS = (
    'ConnectFailure', 'ConnectTimeout', 'ConnectionError', 'ConnectionClosed',
    'ConnectionClosedError', 'EndpointConnectionError', 'HTTPClientError',
    'MaxRetryError', 'NewConnectionError', 'ProtocolError', 'ReadTimeout',
    'ReadTimeoutError', 'RetriableConnectionFailure', 'SSLError',
    'ServiceRequestError', 'ServiceResponseError', 'Timeout',
    'TransportError')
# Likewise: there are no credentials, or the server refuses them.
LOGIN_ERRORS = (
    'ClientAuthenticationError', 'ConfigException', 'CredentialRetrievalError',
    'DefaultCredentialsError', 'MissingRequiredOptions', 'NoCredentialsError',
    'PartialCredentialsError', 'ProfileNotFound', 'RefreshError',
    'SSOTokenLoadError', 'TokenRetrievalError', 'UnauthorizedSSOTokenError')
# Parts of the reasons of TLS errors: one side refuses a certificate.
CERTIFICATE_REASONS = ('CERTIFICATE', 'UNKNOWN_CA')
UNAUTHENTICATED = 401
# Maximum attempts per provider and node: a request's record has the provider's
# name once for each attempt.
MOST_ATTEMPTS = 100


class Failure(enum.Enum):
    QUOTA = 'quota'
    CAPACITY = 'capacity'
    TEMPORARY = 'temporary'
    PERMANENT = 'permanent'
    MOVED = 'moved'
    ATTEMPT = 'attempt'


def classify(error):
    """
    :param Exception error: raised by a driver.  If it has an attribute
        ``failure`` with the value of a :class:`Failure`, that decides.
    :return: a :class:`Failure`.
    """
    declared = getattr(error, 'failure', None)
    for failure in Failure:
        if declared == failure.value:
            return failure
    if isinstance(error, QuotaException):
        return Failure.QUOTA
    for each in _getChain(error):
        if isinstance(each, TimeoutError | ConnectionError | socket.gaierror):
            return Failure.TEMPORARY
        if any(base.__name__ in CONNECTION_ERRORS
               for base in type(each).__mro__):
            return Failure.TEMPORARY
        status = _getStatus(each)
        if status in TEMPORARY_STATUS or 500 <= status < 600:
            return Failure.TEMPORARY
    return Failure.ATTEMPT


def isLoginRefused(error):
    """
    :param Exception error: raised by a driver.
    :return: whether a cloud seems to refuse this launcher's log-in, or there
        are no valid credentials.
    """
    return any(
        isinstance(each, LoginError)
        or _getStatus(each) == UNAUTHENTICATED
        or any(base.__name__ in LOGIN_ERRORS for base in type(each).__mro__)
        or (isinstance(each, ssl.SSLError) and any(
            part in (getattr(each, 'reason', None) or '')
            for part in CERTIFICATE_REASONS))
        for each in _getChain(error))


def isForGood(error):
    """
    :param Exception error: the cause of a failure.
    :return: whether every retry would fail with it.
    """
    return any(getattr(each, 'failure', None) == Failure.PERMANENT.value
               for each in _getChain(error))


def isFinalAnswer(error):
    """:return: whether a server has answered, and would give the same answer
        to a retry."""
    return any(
        400 <= (status := _getStatus(each)) < 500
        and status not in TEMPORARY_STATUS for each in _getChain(error))


def isGone(errors):
    """
    :param list errors: the errors of all attempts to read an object.
    :return: whether a server or a driver has said that the object is gone, and
        the other attempts neither found it nor failed temporarily.
    """
    answers = [GONE_STATUS[0] if isinstance(error, GoneError) else
               next(filter(None, map(_getStatus, _getChain(error))), 0)
               for error in errors]
    return any(answer in GONE_STATUS for answer in answers) and all(
        answer in GONE_STATUS
        or (not answer and classify(error) != Failure.TEMPORARY)
        for answer, error in zip(answers, errors, strict=True))


def hasFailed(node, failure):
    """:return: whether a node's record says that its launch has ended with
        this failure."""
    return (node.create_state or {}).get('failure') == failure.value


def getFailure(node):
    """:return: the :class:`Failure` that has ended a node's launch; temporary
        if its record does not say it, as those of Zuul's launchers."""
    return next((each for each in Failure if hasFailed(node, each)),
                Failure.TEMPORARY)


def getAttempts(provider):
    """:return: maximum attempts of a request at a provider, limited to what
        its record can hold."""
    return min(provider.launch_attempts, MOST_ATTEMPTS)


def getLauncher(node):
    """:return: the name of the launcher whose launch of a node has failed;
        None if its record does not say it, as those of Zuul's launchers.
    """
    return (node.create_state or {}).get('launcher')


def countFailed(failed, failure, attempts, untried=0):
    """
    :param int failed: number of attempts that have failed before.
    :param Failure failure: of one more.
    :param int attempts: as of :func:`getAttempts`.
    :param int untried: number of launchers that have not failed yet.
    :return: number of attempts that have failed now.  A permanent failure uses
        up all attempts but the last, which confirms it; while launchers are
        untried, the cause may be the launcher, and each may confirm it.
    """
    if failure is not Failure.PERMANENT:
        return failed + (failure is Failure.ATTEMPT)
    count = max(failed + 1, attempts - max(untried, 1))
    return min(count, max(attempts - 1, 1)) if untried else count


def describe(error, node=None):
    """
    :param ProviderNode node: the node of the error; its addresses are not
        secret.
    :return: an error in one line, for a record that tenants see.
    """
    # The text of a KeyError is only the key.
    text = repr(error) if isinstance(error, KeyError) else str(error)
    known = node and (
        node.uuid, node.interface_ip, node.public_ipv4, node.private_ipv4,
        node.public_ipv6, node.private_ipv6)
    return messages.forTenants(text, known or ())[:messages.LENGTH] or (
        type(error).__name__)


def _getChain(error):
    """:return: yields the error, its cause, and so on."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (
            None if error.__suppress_context__ else error.__context__)


def _getStatus(error):
    for each in (error, getattr(error, 'response', None)):
        for name in STATUS_ATTRIBUTES:
            value = getattr(each, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    # Botocore's errors have the status there.
    found = getattr(error, 'response', None)
    for key in ('ResponseMetadata', 'HTTPStatusCode'):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int) else 0
