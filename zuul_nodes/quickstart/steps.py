"""The steps of a quickstart: timed, recorded, and reported to a listener."""

import contextlib
import dataclasses
import time

OK = 'ok'
FAILED = 'failed'
INTERRUPTED = 'interrupted'


@dataclasses.dataclass
class Step:
    """:ivar float seconds: the duration of the step."""

    name: str
    result: str | None = None
    seconds: float | None = None


class Listener:
    """Receives the progress of steps.  This base class ignores it."""

    def started(self, step):
        """A step begins; step.name is set."""

    def note(self, text):
        """Report an event within the current step, in one line."""

    def finished(self, step):
        """The step ended; step.result and step.seconds are set."""


class Steps:
    """All steps so far, in the order of their start.

    :param Listener listener: informed of each step.
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
        """Record the ``with`` block as a step of this name."""
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
