"""What the answers of an API server, and what is said of pods, become.

What they mean is in the table of :mod:`.meanings`.
"""

import json
import re

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.kubernetes.meanings import Kind, Speaker, getRow
from zuul_nodes.drivers.kubernetes.quantities import parse


class Missing(PermanentError):
    """There is no such thing."""


class Exists(DriverError):
    """There is such a thing already, or it is in the way of another."""


class Forbidden(PermanentError):
    """We may not do that."""


class Unready(TemporaryError):
    """It is refused for a moment: the namespace is so new that it does not
    have its service account, or this no token, or a quota has changed at the
    same time.  The same call may be made again."""


class Expired(TemporaryError):
    """The rest of a list, or what has changed since, is not known any
    more."""


CLASSES = {
    Kind.QUOTA: QuotaError, Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError, Kind.UNSETTLED: Unready,
    Kind.EXPIRED: Expired, Kind.PERMANENT: PermanentError,
    Kind.FORBIDDEN: Forbidden, Kind.MISSING: Missing, Kind.EXISTS: Exists,
    Kind.ATTEMPT: DriverError}
EXCEEDED = re.compile(
    r'exceeded quota: .*, requested: (?P<requested>\S+), used: \S+, '
    r'limited: (?P<limited>\S+)')


def translate(error):
    """
    :param ApiException error: raised for an answer.
    :return: a :class:`DriverError` that says what it means.
    """
    status = int(error.status or 0)
    reason, message = _read(error.body)
    message = message or f'{status} {error.reason}'
    kind = getRow(Speaker.SERVER, status, reason, message).kind
    if kind is Kind.QUOTA and _isTooMuch(message):
        kind = Kind.PERMANENT
    if status == 401:
        message = f'the cluster does not know who we are: {message}'
    return CLASSES[kind](message)


def makeError(row, message):
    """
    :param Row row: of the table.
    :param str message: one line, for people.
    :return: a :class:`DriverError`.
    """
    return CLASSES[row.kind](message)


def describeRight(verb, resource, group='', namespace=None):
    """
    :param str namespace: where it is needed, or None for all.
    :return: that Zuul lacks a right, and who can give it, a sentence.
    """
    where = f'in namespace {namespace}' if namespace else 'everywhere'
    return (f'Zuul may not {verb} {resource} {where}. Bind a role to its '
            f'user that allows "{verb}" of "{resource}"'
            + (f' in the API group {group}' if group else ''))


def _isTooMuch(message):
    """:return: whether there would be no room if nothing were in use."""
    match = EXCEEDED.search(message)
    if not match:
        return False
    requested, limited = (
        dict(re.findall('([^,=]+)=([^,]+)', part)) for part in match.groups())
    return any(parse(amount) > parse(limited.get(resource, amount))
               for resource, amount in requested.items())


def _read(body):
    """
    :param body: of an answer, bytes or text, as the library has it.
    :return: reason and message, text.
    """
    try:
        said = json.loads(body)
        return str(said.get('reason') or ''), str(said['message'])
    except (AttributeError, KeyError, TypeError, ValueError):
        return '', body.decode(errors='replace').strip() if isinstance(
            body, bytes) else (body or '').strip()
