"""What the answers of an API server mean.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

import json

from zuul_nodes.drivers import (
    DriverError,
    PermanentError,
    QuotaError,
    TemporaryError,
)


class Missing(PermanentError):
    """There is no such thing."""


class Exists(DriverError):
    """There is such a thing already, or it is in the way of another."""


class Forbidden(PermanentError):
    """We may not do that."""


class Unready(TemporaryError):
    """The namespace is so new that it does not have its service account."""


# What messages of answers with status 403 are about, whoever sends them.
ABOUT = (
    ('exceeded quota', QuotaError),
    ('insufficient quota', QuotaError),
    ('error looking up service account', Unready),
    ('is being terminated', DriverError),
)
KINDS = {401: PermanentError, 403: Forbidden, 404: Missing, 409: Exists,
         400: PermanentError, 405: PermanentError, 413: PermanentError,
         422: PermanentError}


def translate(error):
    """
    :param ApiException error: raised for an answer.
    :return: a :class:`DriverError` that says what it means.
    """
    status = int(error.status or 0)
    message = _getMessage(error) or f'{status} {error.reason}'
    kind = KINDS.get(status, DriverError)
    if status == 403:
        kind = next((each for text, each in ABOUT if text in message), kind)
    elif status == 429 or status >= 500:
        kind = TemporaryError
    if status == 401:
        message = f'the cluster does not know who we are: {message}'
    return kind(message)


def _getMessage(error):
    body = error.body
    try:
        # The library has it as bytes, or as text.
        return str(json.loads(body)['message'])
    except (KeyError, TypeError, ValueError):
        return body.decode(errors='replace').strip() if isinstance(
            body, bytes) else (body or '').strip()
