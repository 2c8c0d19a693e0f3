"""Exceptions that adapters raise.

The launcher counts any other exception as a failed attempt, unless it knows
the meaning of that exception (see the launcher's failures).
"""

from collections.abc import Callable, Iterator
import contextlib
import logging
from typing import Any, TypeAlias

from zuul.exceptions import QuotaException

# Zuul's logger adapters add the event to a line.
Log: TypeAlias = logging.Logger | logging.LoggerAdapter[Any]


class DriverError(Exception):
    """An attempt has failed; another one may succeed.

    :param message: one line, for users.
    """

    failure = 'attempt'


class QuotaError(DriverError, QuotaException):
    """The quota is exhausted, and nothing was created.

    The launcher waits, and pauses the provider meanwhile.
    """

    failure = 'quota'


class CapacityError(QuotaError):
    """The cloud has no capacity in a zone for what the node needs, for
    example for its instance type, and nothing was created.

    The framework tries another zone at once, if there is one.  The launcher
    waits, and pauses the label at the provider meanwhile; deleting nodes of
    other labels would not help.
    """

    failure = 'capacity'


class TemporaryError(DriverError):
    """The cloud cannot serve the call now: too many requests, a server is
    down.

    The error does not use up an attempt.
    """

    failure = 'temporary'


class LoginError(DriverError):
    """The cloud refuses the log-in of this launcher, or there are no
    credentials: no such file, an expired token.

    If the next list of instances is refused, too, the launcher leaves the
    endpoint to other launchers, until it can log in.
    """


class PermanentError(DriverError):
    """The cloud names a mistake in what was requested: no such image, a
    malformed request.

    An answer that may pass without a change is a :class:`DriverError`:
    rejected credentials, a missing permission, a bare status such as 404.
    """

    failure = 'permanent'


class GoneError(PermanentError):
    """The server reports that the source of an image no longer exists.

    The launcher has the image rebuilt unless it can use another build.
    """


@contextlib.contextmanager
def reportGone(cloud: str, url: str, look: Callable[[], object],
               is_gone: Callable[[Exception], bool],
               log: Log) -> Iterator[None]:
    """Check whether the source of a failed import still exists.

    Clouds report a missing source in different ways, late, or in the same way
    as a source that they may not read.

    :param cloud: its name, for the message.
    :param url: of the source of an image.
    :param look: asks the cloud for the source, and raises its error.
    :param is_gone: called with an error of ``look``; returns whether the error
        means that the source does not exist.
    :param log: for other errors of ``look``.
    :raises GoneError: replaces any error if the source does not exist.
    """
    try:
        yield
    except Exception as error:
        if _isGone(url, look, is_gone, log):
            raise GoneError(
                f'{url}, the source of the image, no longer exists in '
                f'{cloud}: {error}') from error
        raise


def _isGone(url: str, look: Callable[[], object],
            is_gone: Callable[[Exception], bool], log: Log) -> bool:
    try:
        look()
    except Exception as error:
        log.info('Unable to look at %s: %s', url, error)
        return is_gone(error)
    return False
