"""What adapters raise.

Anything else counts as a failed attempt, unless it is an error of the usual
libraries that says by itself what it means (see the launcher's failures).
"""

from collections.abc import Callable, Iterator
import contextlib
import logging
from typing import Any, TypeAlias

from zuul.exceptions import QuotaException

# Zuul's loggers say of what event a line is.
Log: TypeAlias = logging.Logger | logging.LoggerAdapter[Any]


class DriverError(Exception):
    """An attempt has failed; another one may succeed.

    :param message: one line, for people.
    """

    failure = 'attempt'


class QuotaError(DriverError, QuotaException):
    """There is no room; nothing was made.  The launcher waits, and pauses
    the provider meanwhile."""

    failure = 'quota'


class CapacityError(QuotaError):
    """A zone of the cloud has no room for such an instance; nothing was
    made.  Another zone is tried at once, if there is one."""


class TemporaryError(DriverError):
    """The cloud can not do it now: too many requests, a server that is
    down.  Does not use up an attempt."""

    failure = 'temporary'


class PermanentError(DriverError):
    """It is no use to try again here before the configuration or the cloud
    has changed: no such image, no permission."""

    failure = 'permanent'


class GoneError(PermanentError):
    """The server says that what an image was to be made of is not there any
    more.  The launcher has the image built anew, if no other build will do.
    """


@contextlib.contextmanager
def reportGone(cloud: str, url: str, look: Callable[[], object],
               is_gone: Callable[[Exception], bool],
               log: Log) -> Iterator[None]:
    """Look for the source of an import that fails.

    What clouds say of a source that is not there differs, may come late, and
    may be the same as of one that they may not read.

    :param cloud: its name, for the message.
    :param url: of what an image is made of.
    :param look: asks the cloud for that, and raises what it answers.
    :param is_gone: called with an error of ``look``; returns whether it says
        that there is no such thing.
    :param log: for other errors of ``look``.
    :raises GoneError: in place of any error, if the source is gone.
    """
    try:
        yield
    except Exception as error:
        if _isGone(url, look, is_gone, log):
            raise GoneError(
                f'{cloud} has no {url} any more, of which the image was to '
                f'be made: {error}') from error
        raise


def _isGone(url: str, look: Callable[[], object],
            is_gone: Callable[[Exception], bool], log: Log) -> bool:
    try:
        look()
    except Exception as error:
        log.info('Unable to look at %s: %s', url, error)
        return is_gone(error)
    return False
