"""Time-outs of the kit that adapt to the load of the machine.

On a loaded machine, a launcher waits for a processor most of the time.  That
it is late is not a fault of the driver then.
"""

from collections.abc import Callable, Iterable
import contextlib
import pathlib
import time

# Maximum factor by which a time-out is extended.
MOST = 10
NANOSECONDS = 10 ** 9


class Patience:
    """A time-out that excludes the time in which processes wait for a
    processor.

    :param seconds: of the time-out.
    :param pids: returns the ids of the processes; called when they are
        needed, because they may change.
    :param clock: returns seconds.
    """

    def __init__(self, seconds: float,
                 pids: Callable[[], Iterable[int | None]],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._pids = pids
        self._begin = clock()
        self._before = self._readDelays()
        self._end = self._begin + seconds

    def isOver(self) -> bool:
        """:return: whether the time is over."""
        now = self.clock()
        if now > self._end:
            # Evaluated only now, so that it costs little.
            elapsed = now - self._begin
            self._end = self._begin + self.seconds + min(
                self._getDelay(), elapsed * (1 - 1 / MOST))
        return now > self._end

    def _getDelay(self) -> float:
        """:return: seconds of waiting for a processor."""
        return sum(delay - self._before.get(thread, 0)
                   for thread, delay in self._readDelays().items())

    def _readDelays(self) -> dict[str, float]:
        return {thread: delay for pid in self._pids()
                for thread, delay in readDelays(pid).items()}


def readDelays(pid: int | None) -> dict[str, float]:
    """
    :param pid: of a process, or None.
    :return: id of each of its threads -> seconds for which it has waited for
        a processor; empty if Linux does not report it.
    """
    delays = {}
    for path in pathlib.Path(f'/proc/{pid}/task').glob('*/schedstat'):
        # The thread may have ended.
        with contextlib.suppress(OSError):
            delays[path.parent.name] = (
                int(path.read_text().split()[1]) / NANOSECONDS)
    return delays
