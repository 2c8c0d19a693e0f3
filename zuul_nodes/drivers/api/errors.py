"""What adapters raise.

Anything else counts as a failed attempt, unless it is an error of the usual
libraries that says by itself what it means (see the launcher's failures).
"""

from zuul.exceptions import QuotaException


class DriverError(Exception):
    """An attempt has failed; another one may succeed.

    :param str message: one line, for people.
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
