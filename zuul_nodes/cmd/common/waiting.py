"""Waiting with a time-out for each step, and with progress messages."""

import os
import sys
import threading
import time

from zuul_nodes.exceptions import UserError

# Seconds after which a step is announced.
MOMENT = 2
# Seconds between checks of the elapsed time.
TICK = 0.1


class Overdue(UserError):
    """A step exceeded its time-out; a thread is still working on it."""


class Waiting:
    """Runs work in steps, each with a time-out.

    Zuul and its drivers wait without time-outs, so the work runs in a
    separate thread.

    :param float timeout: seconds per step.
    :param stream: for messages about steps that take longer than a moment.
    """

    def __init__(self, timeout, stream=None):
        self.timeout = timeout
        self.stream = stream or sys.stderr
        self._step = ('Starting', '', time.monotonic())

    def begin(self, what, hint):
        """Begin the next step; called by the work.

        :param str what: the step, for example "Reading ...".
        :param str hint: what to check if the step does not finish.
        """
        self._step = (what, hint, time.monotonic())

    def runWork(self, work):
        """
        :param work: a function; called in another thread.
        :return: the result of the function.
        :raises: what the function raises.
        :raises Overdue: a step exceeded its time-out.
        """
        done = threading.Event()
        outcome = {}

        def target():
            try:
                outcome['result'] = work()
            except BaseException as error:
                outcome['error'] = error
            finally:
                done.set()
        threading.Thread(target=target, name='work', daemon=True).start()
        announced = None
        while not done.wait(TICK):
            step = what, hint, begun = self._step
            seconds = time.monotonic() - begun
            if seconds > self.timeout:
                raise Overdue(f'{what}: not done within '
                              f'{self.timeout:g} s. {hint}')
            if seconds > MOMENT and step is not announced:
                print(f'{what} ...', file=self.stream, flush=True)
                announced = step
        if 'error' in outcome:
            raise outcome['error']
        return outcome['result']


def leave(message):
    """End the process, even if its threads are still waiting.

    :param str message: the line for standard error.
    """
    print(message, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)
