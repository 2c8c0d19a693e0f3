"""Waiting with a time-out for each step, and with progress messages."""

from concurrent.futures import wait
import os
import sys
import time

from zuul_nodes.exceptions import UserError
from zuul_nodes.futures import begin

# Seconds after which a step is announced.
MOMENT = 2


class Overdue(UserError):
    """A step exceeded its time-out; a thread is still working on it."""


class Waiting:
    """Runs work in steps, each with a time-out.

    Zuul and its drivers wait without time-outs, so the work runs in a
    separate thread.

    :param float timeout: seconds per step.
    :param stream: for messages about steps that take longer than a moment.
    :param clock: returns seconds.
    :param float interval: seconds between checks of the clock.
    """

    def __init__(self, timeout, stream=None, clock=time.monotonic,
                 interval=0.1):
        self.timeout = timeout
        self.stream = stream or sys.stderr
        self.clock = clock
        self.interval = interval
        self._step = ('Starting', '', clock())

    def begin(self, what, hint):
        """Begin the next step; called by the work.

        :param str what: the step, for example "Reading ...".
        :param str hint: what to check if the step does not finish.
        """
        self._step = (what, hint, self.clock())

    def runWork(self, work):
        """
        :param work: a function; called in another thread.
        :return: the result of the function.
        :raises: what the function raises.
        :raises Overdue: a step exceeded its time-out.
        """
        call = begin('work', work)
        announced = None
        while not wait([call], self.interval).done:
            step = what, hint, begun = self._step
            seconds = self.clock() - begun
            if seconds > self.timeout:
                raise Overdue(f'{what}: not done within '
                              f'{self.timeout:g} s. {hint}')
            if seconds > MOMENT and step is not announced:
                print(f'{what} ...', file=self.stream, flush=True)
                announced = step
        return call.result()


def leave(message):
    """End the process, even if its threads are still waiting.

    :param str message: the line for standard error.
    """
    print(message, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)
