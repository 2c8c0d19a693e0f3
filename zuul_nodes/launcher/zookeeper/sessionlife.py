"""Knows whether ZooKeeper still has this launcher's session.

A launcher that is cut off or suspended learns only afterwards that ZooKeeper
has ended its session, and that other launchers have its work.  So it counts
the time itself: when ZooKeeper's last answer is so old that the session may
have ended, it begins nothing before there is another one.
"""

import functools
import time

# ZooKeeper may have granted a shorter session than was asked for (in seconds).
LONGEST = 10.0
# Of the session's time-out, the part that an answer is good for.  The rest is
# for ZooKeeper's servers, which tell their leader later of whom they hear.
PART = 2 / 3

# On Linux, this clock goes on while the machine is suspended.
getTime = functools.partial(time.clock_gettime, getattr(
    time, 'CLOCK_BOOTTIME', time.CLOCK_MONOTONIC))


class SessionLife:
    """Knows whether ZooKeeper still has this launcher's session.

    :param KazooClient client: connected.
    :param float timeout: of the session, in seconds.
    :param clock: gives seconds.
    """

    def __init__(self, client, timeout, clock=getTime):
        self.client = client
        self.lifetime = PART * min(timeout, LONGEST)
        self.clock = clock
        self._answered = -self.lifetime
        self._is_waiting = False

    def isCertain(self):
        """:return: whether the session certainly exists.  If not, or soon not
            any more, ZooKeeper is asked."""
        age = self.clock() - self._answered
        if age > self.lifetime / 2:
            self._ask()
        return age < self.lifetime

    def noteAnswer(self, sent):
        """Note that the leader of ZooKeeper's servers has answered in this
        session; it has when something was written.

        :param float sent: when the request was sent, of the clock.
        """
        self._answered = max(self._answered, sent)

    def _ask(self):
        """Ask the leader, unless it owes an answer.

        It ends sessions, and a server that has lost it still answers other
        questions by itself for some time.
        """
        if not self._is_waiting:
            self._is_waiting = True
            self.client.sync_async('/').rawlink(
                functools.partial(self._end, self.clock()))

    def _end(self, sent, answer):
        if answer.successful():
            self.noteAnswer(sent)
        self._is_waiting = False
