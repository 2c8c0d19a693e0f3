"""The steps of a quickstart: timed, remembered, and told while they go."""

import contextlib
import dataclasses
import time

OK = 'ok'
FAILED = 'failed'
INTERRUPTED = 'interrupted'


@dataclasses.dataclass
class Step:
    """:ivar float seconds: how long the step took."""

    name: str
    result: str | None = None
    seconds: float | None = None


class Listener:
    """Is told about progress.  This one keeps it to itself."""

    def started(self, step):
        """A step begins; step.name says which."""

    def note(self, text):
        """Something happened inside the current step, in one line."""

    def finished(self, step):
        """The step ended; step.result and step.seconds are set."""


class Steps:
    """All steps so far, in the order they were begun.

    :param Listener listener: is told about each of them.
    """

    def __init__(self, listener=None):
        self.listener = listener or Listener()
        self.steps = []

    def __iter__(self):
        return iter(self.steps)

    def note(self, text):
        self.listener.note(text)

    @contextlib.contextmanager
    def step(self, name):
        """The work in the ``with`` block is the step of this name."""
        step = Step(name)
        self.steps.append(step)
        self.listener.started(step)
        begin = time.monotonic()
        step.result = FAILED
        try:
            yield step
            step.result = OK
        except KeyboardInterrupt:
            step.result = INTERRUPTED
            raise
        finally:
            step.seconds = time.monotonic() - begin
            self.listener.finished(step)
