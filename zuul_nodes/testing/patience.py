"""How long the kit waits for something, on whatever machine.

Where others are at work, too, a launcher waits for a processor most of the
time.  That it is late then says nothing of a driver.
"""

from collections.abc import Callable, Iterable
import contextlib
import pathlib
import time

# The kit waits so many times longer, whatever keeps the processors busy.
MOST = 10
NANOSECONDS = 10 ** 9


class Patience:
    """
    :param seconds: in which something has to be so, as far as there
        was a processor for it.
    :param pids: gives the ids of the processes that bring it about; called
        when they are needed, as others may be at work by then.
    :param clock: gives seconds.
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
        """:return: whether it should be so by now."""
        now = self.clock()
        if now > self._end:
            # Looked at as seldom as that, it takes nothing from the others.
            elapsed = now - self._begin
            self._end = self._begin + self.seconds + min(
                self._getDelay(), elapsed * (1 - 1 / MOST))
        return now > self._end

    def _getDelay(self) -> float:
        """:return: seconds in which there was no processor."""
        return sum(delay - self._before.get(thread, 0)
                   for thread, delay in self._readDelays().items())

    def _readDelays(self) -> dict[str, float]:
        return {thread: delay for pid in self._pids()
                for thread, delay in readDelays(pid).items()}


def readDelays(pid: int | None) -> dict[str, float]:
    """
    :param pid: of a process, or None.
    :return: id of each of its threads -> seconds for which it could have
        run, and others did; nothing if Linux does not tell.
    """
    delays = {}
    for path in pathlib.Path(f'/proc/{pid}/task').glob('*/schedstat'):
        # The thread may have ended.
        with contextlib.suppress(OSError):
            delays[path.parent.name] = (
                int(path.read_text().split()[1]) / NANOSECONDS)
    return delays
