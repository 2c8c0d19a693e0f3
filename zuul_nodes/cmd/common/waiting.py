"""Waiting no longer than a person would, and saying what for."""

import os
import sys
import threading
import time

from zuul_nodes.exceptions import UserError

# Seconds.  What takes longer than this is worth a word.
MOMENT = 2
# How often it is looked how long it takes.
TICK = 0.1


class Overdue(UserError):
    """A step took too long; a thread is still busy with it."""


class Waiting:
    """Does work step by step, none of which may take for ever.

    What Zuul and its drivers wait for knows no time-outs, so the work has
    a thread of its own.

    :param float timeout: the seconds that each step may take.
    :param stream: where to say what takes more than a moment.
    """

    def __init__(self, timeout, stream=None):
        self.timeout = timeout
        self.stream = stream or sys.stderr
        self._step = ('Starting', '', time.monotonic())

    def begin(self, what, hint):
        """Begin the next step; called by the work.

        :param str what: is done, "Reading ...".
        :param str hint: what to look at if it does not come to an end.
        """
        self._step = (what, hint, time.monotonic())

    def run(self, work):
        """
        :param work: is called in another thread.
        :return: what it returns.
        :raises: what it raises.
        :raises Overdue: a step took too long.
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
        told = None
        while not done.wait(TICK):
            step = what, hint, begun = self._step
            seconds = time.monotonic() - begun
            if seconds > self.timeout:
                raise Overdue(f'{what}: not done within '
                              f'{self.timeout:g} s. {hint}')
            if seconds > MOMENT and step is not told:
                print(f'{what} ...', file=self.stream, flush=True)
                told = step
        if 'error' in outcome:
            raise outcome['error']
        return outcome['result']


def leave(message):
    """End the process, whatever its threads still wait for.

    :param str message: the line for standard error.
    """
    print(message, file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)
