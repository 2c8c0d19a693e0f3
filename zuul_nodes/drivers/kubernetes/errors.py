"""Translate answers of the API server and states of pods into errors.

The table in :mod:`.meanings` has their meanings.
"""

import json
import re

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.kubernetes.meanings import Kind, Speaker, getRow
from zuul_nodes.drivers.kubernetes.quantities import parse


class Missing(DriverError):
    """The object does not exist, or the server cannot find it now."""


class NoSuch(Missing, PermanentError):
    """The object that the server names does not exist."""


class Exists(DriverError):
    """The object exists already, or prevents the creation of another one."""


class Forbidden(DriverError):
    """Zuul lacks the permission."""


class Unready(TemporaryError):
    """The server refuses a call for a moment.

    A new namespace may lack its service account, the account may lack its
    token, or a quota has changed at the same time.  The same call may be
    repeated.
    """


class Expired(TemporaryError):
    """The server has forgotten the rest of a list or of the changes."""


CLASSES = {
    Kind.QUOTA: QuotaError, Kind.CAPACITY: CapacityError,
    Kind.TEMPORARY: TemporaryError, Kind.UNSETTLED: Unready,
    Kind.EXPIRED: Expired, Kind.PERMANENT: PermanentError,
    Kind.LOGIN: LoginError, Kind.FORBIDDEN: Forbidden, Kind.MISSING: Missing,
    Kind.NO_SUCH: NoSuch, Kind.EXISTS: Exists, Kind.ATTEMPT: DriverError}
EXCEEDED = re.compile(
    r'exceeded quota: .*, requested: (?P<requested>\S+), used: \S+, '
    r'limited: (?P<limited>\S+)')


def translate(error):
    """
    :param ApiException error: raised for an answer.
    :return: a :class:`DriverError` of the same meaning.
    """
    status = int(error.status or 0)
    reason, message = _read(error.body)
    message = message or f'{status} {error.reason}'
    kind = getRow(Speaker.SERVER, status, reason, message).kind
    if kind is Kind.QUOTA and _isTooMuch(message):
        kind = Kind.PERMANENT
    if status == 401:
        message = f'the cluster does not accept the credentials: {message}'
    return CLASSES[kind](message)


def makeError(row, message):
    """
    :param Row row: of the table.
    :param str message: one line, for users.
    :return: a :class:`DriverError`.
    """
    return CLASSES[row.kind](message)


def describeRight(verb, resource, group='', namespace=None):
    """
    :param str namespace: that needs the permission, or None for all.
    :return: a sentence that Zuul lacks a permission, and how to grant it.
    """
    where = f'in namespace {namespace}' if namespace else 'everywhere'
    return (f'Zuul may not {verb} {resource} {where}. Bind a role to its '
            f'user that allows "{verb}" of "{resource}"'
            + (f' in the API group {group}' if group else ''))


def _isTooMuch(message):
    """:return: whether a request exceeds a quota even if nothing uses it."""
    match = EXCEEDED.search(message)
    if not match:
        return False
    requested, limited = (
        dict(re.findall('([^,=]+)=([^,]+)', part)) for part in match.groups())
    return any(parse(amount) > parse(limited.get(resource, amount))
               for resource, amount in requested.items())


def _read(body):
    """
    :param body: of an answer, bytes or a string.
    :return: reason and message, strings.
    """
    try:
        said = json.loads(body)
        return str(said.get('reason') or ''), str(said['message'])
    except (AttributeError, KeyError, TypeError, ValueError):
        return '', body.decode(errors='replace').strip() if isinstance(
            body, bytes) else (body or '').strip()
