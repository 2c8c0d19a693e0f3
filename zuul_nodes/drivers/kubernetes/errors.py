"""What the answers of an API server mean.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

import json
import re

from zuul_nodes.drivers import (
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.kubernetes.quantities import parse


class Missing(PermanentError):
    """There is no such thing."""


class Exists(DriverError):
    """There is such a thing already, or it is in the way of another."""


class Forbidden(PermanentError):
    """We may not do that."""


class Unready(TemporaryError):
    """The namespace is so new that it does not have its service account, or
    this no token."""


# What messages are about, of answers with a status, whoever sends them.
ABOUT = (
    (403, 'exceeded quota', QuotaError),
    (403, 'insufficient quota', QuotaError),
    # It is new, and the cluster has not counted yet.
    (403, 'status unknown for quota', TemporaryError),
    (403, 'error looking up service account', Unready),
    # Before 1.24, accounts have to have their tokens.
    (500, 'No API token found for service account', Unready),
    (403, 'is being terminated', DriverError),
)
KINDS = {401: PermanentError, 403: Forbidden, 404: Missing, 409: Exists,
         400: PermanentError, 405: PermanentError, 413: PermanentError,
         422: PermanentError}
EXCEEDED = re.compile(
    r'exceeded quota: .*, requested: (?P<requested>\S+), used: \S+, '
    r'limited: (?P<limited>\S+)')


def translate(error):
    """
    :param ApiException error: raised for an answer.
    :return: a :class:`DriverError` that says what it means.
    """
    status = int(error.status or 0)
    message = _getMessage(error) or f'{status} {error.reason}'
    kind = TemporaryError if status == 429 or status >= 500 else (
        KINDS.get(status, DriverError))
    kind = next((each for about, text, each in ABOUT
                 if about == status and text in message), kind)
    if kind is QuotaError and _isTooMuch(message):
        kind = PermanentError
    if status == 401:
        message = f'the cluster does not know who we are: {message}'
    return kind(message)


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


def _getMessage(error):
    body = error.body
    try:
        # The library has it as bytes, or as text.
        return str(json.loads(body)['message'])
    except (KeyError, TypeError, ValueError):
        return body.decode(errors='replace').strip() if isinstance(
            body, bytes) else (body or '').strip()
