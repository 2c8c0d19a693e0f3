"""Threads for what takes long: they end with their work, and do not keep a
launcher that stops."""

import collections
from collections.abc import Callable
from concurrent.futures import Future
import threading
from typing import Any, Protocol

from zuul_nodes.launcher.workers.calls import Arguments, Result, fulfil

METRIC = 'zuul.launcher.server.{hostname}.'
# What fulfils a Future, that Future first.
Work = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class Gauges(Protocol):
    """What is told numbers: a statsd client."""

    def gauge(self, name: str, value: float, /) -> object:
        ...


class Stopped(Exception):
    """The launcher stops; somebody else will begin anew."""


class Workplaces:
    """Places for one kind of work, of several who ask for them.

    :param statsd: to which the number of those at work is told, or None.
    :param name: of the number.
    :param size: how many there are at most.
    """

    def __init__(self, statsd: Gauges | None, name: str, size: int) -> None:
        self.statsd = statsd
        self.name = name
        self.size = size
        self._changed = threading.Condition()
        # Who asks -> how much of it goes on.
        self._working: collections.Counter[str] = collections.Counter()
        self._running = True
        self._tell()

    def stop(self) -> None:
        """Whatever waits still has its turn, to see that it is over."""
        with self._changed:
            self._running = False

    def join(self, timeout: float) -> None:
        """Wait for what is going on; to be called after :meth:`stop`.

        :param timeout: in seconds.  What hangs is left alone then.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: not self._working.total(), timeout)

    def _tell(self) -> None:
        if self.statsd:
            self.statsd.gauge(METRIC + self.name, self._working.total())


class Threads(Workplaces):
    """Threads for one kind of work, so many for each endpoint.

    Work at one endpoint does not wait for that at another one.
    """

    def __init__(self, statsd: Gauges | None, name: str, size: int) -> None:
        super().__init__(statsd, name, size)
        # Endpoint -> what waits for one of its threads, which end with
        # their work.
        self._waiting: dict[str, collections.deque[Work]] = (
            collections.defaultdict(collections.deque))

    def submit(self, endpoint_name: str,
               function: Callable[[*Arguments], Result],
               *args: *Arguments) -> Future[Result]:
        """
        :return: a Future of the function's result.
        :raises Stopped: nothing is begun any more.
        """
        future: Future[Result] = Future()
        with self._changed:
            if not self._running:
                raise Stopped
            self._waiting[endpoint_name].append((future, function, args))
            if self._working[endpoint_name] < self.size:
                self._working[endpoint_name] += 1
                self._tell()
                # Python would wait at its exit for one that is no daemon.
                threading.Thread(
                    target=self._run, args=(endpoint_name,),
                    name=f'{self.name} {endpoint_name}', daemon=True).start()
        return future

    def _run(self, endpoint_name: str) -> None:
        while work := self._take(endpoint_name):
            fulfil(*work)

    def _take(self, endpoint_name: str) -> Work | None:
        """:return: what has waited longest, or None at the thread's end."""
        with self._changed:
            if waiting := self._waiting[endpoint_name]:
                return waiting.popleft()
            self._working[endpoint_name] -= 1
            self._tell()
            self._changed.notify_all()
            return None
