"""Threads for long-running work.

A thread ends with its work and does not delay the stop of a launcher."""

import collections
from collections.abc import Callable
from concurrent.futures import Future
import threading
from typing import Any, Protocol

from zuul_nodes.futures import Arguments, Result, fulfil

METRIC = 'zuul.launcher.server.{hostname}.'
# A Future, and the function and arguments that give its result.
Work = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class Gauges(Protocol):
    """A client that reports gauges to statsd."""

    def gauge(self, name: str, value: float, /) -> object:
        ...


class Stopped(Exception):
    """The launcher is stopping and begins no new work."""


class Workplaces:
    """A limited number of places for one kind of work.

    :param statsd: client for the gauge of occupied places, or None.
    :param name: of the gauge.
    :param size: maximum number of places.
    :ivar working: endpoint or tenant -> number of its occupied places.
    """

    def __init__(self, statsd: Gauges | None, name: str, size: int) -> None:
        self.statsd = statsd
        self.name = name
        self.size = size
        self._changed = threading.Condition()
        self.working: collections.Counter[str] = collections.Counter()
        self._running = True
        self._reportUsage()

    def stop(self) -> None:
        """Accept no new work.

        Work that is waiting still runs, and finds that the launcher stops.
        """
        with self._changed:
            self._running = False

    def join(self, timeout: float) -> None:
        """Wait for running work to end; call :meth:`stop` first.

        :param timeout: in seconds.  Work that takes longer is abandoned.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: not self.working.total(), timeout)

    def _reportUsage(self) -> None:
        if self.statsd:
            self.statsd.gauge(METRIC + self.name, self.working.total())


class Threads(Workplaces):
    """Threads for one kind of work, with a limit per endpoint.

    A slow endpoint does not delay the work of other endpoints.
    """

    def __init__(self, statsd: Gauges | None, name: str, size: int) -> None:
        super().__init__(statsd, name, size)
        # Endpoint -> work that waits for a thread.
        self._waiting: dict[str, collections.deque[Work]] = (
            collections.defaultdict(collections.deque))

    def submit(self, endpoint_name: str,
               function: Callable[[*Arguments], Result],
               *args: *Arguments) -> Future[Result]:
        """Run a function in one of the endpoint's threads.

        :return: a Future of the function's result.
        :raises Stopped: the launcher is stopping.
        """
        future: Future[Result] = Future()
        with self._changed:
            if not self._running:
                raise Stopped
            self._waiting[endpoint_name].append((future, function, args))
            if self.working[endpoint_name] < self.size:
                self.working[endpoint_name] += 1
                self._reportUsage()
                # When Python exits, it waits for threads that are not
                # daemons.
                threading.Thread(
                    target=self._run, args=(endpoint_name,),
                    name=f'{self.name} {endpoint_name}', daemon=True).start()
        return future

    def _run(self, endpoint_name: str) -> None:
        while work := self._take(endpoint_name):
            fulfil(*work)

    def _take(self, endpoint_name: str) -> Work | None:
        """:return: the work that has waited longest; None if there is none,
            which ends the thread."""
        with self._changed:
            if waiting := self._waiting[endpoint_name]:
                return waiting.popleft()
            self.working[endpoint_name] -= 1
            self._reportUsage()
            self._changed.notify_all()
            return None
