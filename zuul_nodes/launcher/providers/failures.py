"""What an error of a driver means for a node and its provider.

Quota: there is no room; wait.  Temporary: the cloud can not answer now;
try again later or elsewhere.  Permanent: it is no use to try again here.
Overtaken: what it was planned with is not so any more; that is nobody's
failure, and it is planned anew.  All else counts as an attempt to launch
the node, of which a provider has a number.
"""

import enum
import socket

from zuul.exceptions import QuotaException

from zuul_nodes import messages
from zuul_nodes.drivers import GoneError

# What clouds' libraries call the status of an answer.
STATUS_ATTRIBUTES = ('http_status', 'status_code', 'status', 'code')
# Request time-out, too early, too many requests; 5xx besides.
TEMPORARY_STATUS = (408, 425, 429)
# Not found, gone.
GONE_STATUS = (404, 410)
# Of libraries that a launcher does not need to have.
CONNECTION_ERRORS = (
    'ConnectFailure', 'ConnectTimeout', 'ConnectionError', 'ConnectionClosed',
    'ConnectionClosedError', 'EndpointConnectionError', 'HTTPClientError',
    'MaxRetryError', 'NewConnectionError', 'ProtocolError', 'ReadTimeout',
    'ReadTimeoutError', 'RetriableConnectionFailure', 'SSLError',
    'ServiceRequestError', 'ServiceResponseError', 'Timeout',
    'TransportError')
# No provider is tried more often for a node: a request has its name on record
# for each attempt.
MOST_ATTEMPTS = 100


class Failure(enum.Enum):
    QUOTA = 'quota'
    TEMPORARY = 'temporary'
    PERMANENT = 'permanent'
    OVERTAKEN = 'overtaken'
    ATTEMPT = 'attempt'


def classify(error):
    """
    :param Exception error: raised by a driver.  An attribute ``failure``
        of it, the value of a :class:`Failure`, decides.
    :return: a :class:`Failure`.
    """
    said = getattr(error, 'failure', None)
    for failure in Failure:
        if said == failure.value:
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


def isForGood(error):
    """
    :param Exception error: that something has failed with.
    :return: whether it would fail again, however often it is tried.
    """
    return any(getattr(each, 'failure', None) == Failure.PERMANENT.value
               for each in _getChain(error))


def isFinalAnswer(error):
    """:return: whether a server has answered, and would answer the same
        when it is asked again."""
    return any(
        400 <= (status := _getStatus(each)) < 500
        and status not in TEMPORARY_STATUS for each in _getChain(error))


def isGone(errors):
    """
    :param list errors: that everybody has got who has tried to get at
        something.
    :return: whether a server, or a driver, has said that it is gone, and all
        others know nothing of it.
    """
    answers = [GONE_STATUS[0] if isinstance(error, GoneError) else
               next(filter(None, map(_getStatus, _getChain(error))), 0)
               for error in errors]
    return any(answer in GONE_STATUS for answer in answers) and all(
        answer in GONE_STATUS
        or (not answer and classify(error) != Failure.TEMPORARY)
        for answer, error in zip(answers, errors, strict=True))


def hasFailed(node, failure):
    """:return: whether it says in a node's record that the node has come to
        nothing in that way."""
    return (node.create_state or {}).get('failure') == failure.value


def getAttempts(provider):
    """:return: how often a request tries a provider, as its record can
        say it."""
    return min(provider.launch_attempts, MOST_ATTEMPTS)


def describe(error, node=None):
    """
    :param ProviderNode node: that it is about, whose addresses are no
        secret.
    :return: an error in one line, for a record that tenants see.
    """
    # Of a key alone, nobody knows that it was missing.
    text = repr(error) if isinstance(error, KeyError) else str(error)
    known = node and (
        node.uuid, node.interface_ip, node.public_ipv4, node.private_ipv4,
        node.public_ipv6, node.private_ipv6)
    return messages.forTenants(text, known or ())[:messages.LENGTH] or (
        type(error).__name__)


def _getChain(error):
    """:return: yields the error and what it was raised from."""
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
    # Botocore has it there.
    found = getattr(error, 'response', None)
    for key in ('ResponseMetadata', 'HTTPStatusCode'):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int) else 0
