"""The rate of a connection, which all of its endpoints and launchers share.

Zuul's drivers give each endpoint a limiter of its own.  So the calls to a
cloud would multiply with the regions and with the launchers.
"""

import threading
import time
from typing import Any, cast

from zuul.driver.util import RateLimiter

# The attributes of a connection: its limiters, and the number of launchers
# that share its rate, which the launcher sets.
LIMITERS = 'rate_limiters'
LAUNCHERS = 'launchers'


class ConnectionRateLimiter(RateLimiter):
    """Limits the calls of this launcher to one cloud.

    :param connection: of Zuul.
    :param interval: minimum seconds between the begin of two calls to it.
    """

    last_ts: float | None
    lock: threading.Lock

    def __init__(self, connection: Any, interval: float) -> None:
        self.connection = connection
        super().__init__(getattr(connection, 'connection_name', ''), None)
        self.interval = interval

    @property
    def delta(self) -> float:
        """Minimum seconds between two calls of this launcher."""
        return self.interval * cast(
            int, getattr(self.connection, LAUNCHERS, 1))

    @delta.setter
    def delta(self, interval: float) -> None:
        # Zuul's class sets it.
        self.interval = interval

    @property
    def due(self) -> float:
        """When the next call may begin, of the monotonic clock."""
        last = self.last_ts
        return 0 if last is None else last + self.delta

    def begin(self) -> bool:
        """Begin a call, if it may begin now.

        :return: whether it has begun.
        """
        with self.lock:
            now = time.monotonic()
            if now < self.due:
                return False
            self.last_ts = now
            return True


def getLimiter(connection: Any, name: str = '',
               interval: float | None = None) -> ConnectionRateLimiter:
    """
    :param connection: of Zuul.
    :param name: of the limiter; a driver may have several, such as for calls
        that only read.
    :param interval: minimum seconds between two calls; None for the rate of
        the connection.
    :return: the limiter that all endpoints of the connection share.
    """
    if interval is None:
        rate = getattr(connection, 'rate', None)
        interval = 1 / rate if rate else 0
    # Several threads may do this at the same time.
    limiters = vars(connection).setdefault(LIMITERS, {})
    return cast(ConnectionRateLimiter, limiters.setdefault(
        name, ConnectionRateLimiter(connection, interval)))


def shareLimiters(endpoint: Any) -> None:
    """Have an endpoint of any driver share its limiters with the other
    endpoints of its connection."""
    for name, limiter in list(vars(endpoint).items()):
        if type(limiter) is RateLimiter and limiter.delta:
            setattr(endpoint, name, getLimiter(
                endpoint.connection, name, limiter.delta))
