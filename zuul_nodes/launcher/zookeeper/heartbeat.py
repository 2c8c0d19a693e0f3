"""Knows whether ZooKeeper still has this launcher's session.

A launcher that is cut off or suspended learns only afterwards that ZooKeeper
has ended its session, and that other launchers have its work.  So it counts
the time itself: it asks ZooKeeper for an answer again and again, and begins
nothing when the last answer is so old that the session may have ended.
"""

import functools
import threading
import time

# ZooKeeper may have granted a shorter session than was asked for (in seconds).
LONGEST = 10.0
# Of the session's time-out, the part that an answer is good for.  The rest is
# for ZooKeeper's servers, which tell their leader later of whom they hear.
PART = 2 / 3
# How many times ZooKeeper is asked while an answer is good.
BEATS = 8

# On Linux, this clock goes on while the machine is suspended.
getTime = functools.partial(time.clock_gettime, getattr(
    time, 'CLOCK_BOOTTIME', time.CLOCK_MONOTONIC))


class Heartbeat:
    """Knows whether ZooKeeper still has this launcher's session.

    :param KazooClient client: connected.
    :param float timeout: of the session, in seconds.
    :param Event stop_event: ends the thread.
    :param clock: gives seconds.
    """

    def __init__(self, client, timeout, stop_event, clock=getTime):
        self.client = client
        self.lifetime = PART * min(timeout, LONGEST)
        self.stop_event = stop_event
        self.clock = clock
        self._answered = -self.lifetime
        self._is_waiting = False

    def start(self):
        """Wait for the first answer, and ask for others from now on.

        :raises KazooException: ZooKeeper does not answer.
        """
        sent = self.clock()
        # The leader of an ensemble answers: it ends sessions, and a server
        # that has lost it still answers by itself for some time.
        self.client.sync('/')
        self._answered = sent
        threading.Thread(target=self._run, name='LauncherHeartbeat',
                         daemon=True).start()

    def isCertain(self):
        """:return: whether the session certainly exists."""
        return self.clock() < self._answered + self.lifetime

    def beat(self):
        """Ask ZooKeeper for an answer, unless it owes one."""
        if not self._is_waiting:
            self._is_waiting = True
            self.client.sync_async('/').rawlink(
                functools.partial(self._note, self.clock()))

    def _note(self, sent, answer):
        if answer.successful():
            self._answered = sent
        self._is_waiting = False

    def _run(self):
        while not self.stop_event.wait(self.lifetime / BEATS):
            self.beat()
