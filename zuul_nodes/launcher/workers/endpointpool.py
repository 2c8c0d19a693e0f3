"""Threads for what drivers do, some for each endpoint.

A cloud that is slow, hangs or limits the rate of calls keeps its own
threads waiting and nobody else's.
"""

from collections.abc import Callable
import functools
import heapq
import itertools
import logging
import math
import threading
import time
from typing import Any, Protocol, TypeVar

Result = TypeVar('Result')
# Called with what a call has returned and None, or with None and its error.
Done = Callable[[Result | None, Exception | None], object]

# What is to begin later begins at a multiple of this (seconds): a thread that
# wakes for one call finds others, too.
BEAT = 0.05
# If so many threads of an endpoint hang in calls that were given up, no more
# than one goes on: a process can not have any number of threads.
MOST_LOST = 100


class Endpoint(Protocol):
    """What is called of a driver's endpoint, which may be Zuul's."""

    @property
    def started(self) -> bool:
        ...

    @property
    def canonical_name(self) -> str:
        ...

    @property
    def connection(self) -> Any:
        """Where it is; it may have a ``rate``, calls a second."""

    def start(self) -> object:
        ...


class Call:
    """
    :param endpoint: that it is about.
    :param function: what is to be called.
    :param done: called with its result and None, or None and its error.
    :param description: what it is about, for people.
    """

    def __init__(self, endpoint: Endpoint, function: Callable[[], Any],
                 done: Done[Any], description: str) -> None:
        self.endpoint = endpoint
        self.function = function
        self.done = done
        self.description = description
        # When it began, of the monotonic clock.
        self.started = math.inf
        self.given_up = False
        self.withdrawn = False


class Pool:
    """The threads of an endpoint.

    :param name: the endpoint's canonical name.
    :param workers: how many calls there may be at a time.
    :param timeout: seconds that a call may take.
    :param rate: calls a second, or None.
    :param watch: called with seconds; :meth:`check` is to be called after
        that time.
    :param started: called when an endpoint is started.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, name: str, workers: int, timeout: float,
                 rate: float | None, watch: Callable[[float], object],
                 started: Callable[[], object]) -> None:
        self.name = name
        self.workers = workers
        self.timeout = timeout
        self.interval = 1 / rate if rate else 0.0
        self.watch = watch
        self.started = started
        self._start_lock = threading.Lock()
        self._condition = threading.Condition()
        # When a call may begin, its number, and the call.
        self._calls: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        # When one of the idle threads will look again, by itself.
        self._awake_at = math.inf
        self._active: set[Call] = set()
        self._threads = 0
        # How many others hang in calls that were given up.
        self._lost = 0
        self._idle = 0
        self._ending = 0
        self._next_time = 0.0
        self._watched = False
        self._running = True

    def submit(self, call: Call, delay: float = 0) -> None:
        """
        :param delay: seconds before which it must not begin; if there
            are any, it does not before the next beat after that.
        """
        with self._condition:
            if not self._running:
                return
            due = time.monotonic() + delay
            if delay:
                due = math.ceil(due / BEAT) * BEAT
            heapq.heappush(self._calls, (due, next(self._order), call))
            self._tell()
            self._startThread()

    def withdraw(self, call: Call) -> bool:
        """
        :return: whether a call has not begun, and will not.
        """
        with self._condition:
            call.withdrawn = call.started == math.inf
            return call.withdrawn

    def check(self) -> None:
        """Give up calls that take too long.

        Nobody can end a thread; another one takes its place, unless too
        many hang.  What the call comes to is not looked at any more.
        """
        late = []
        with self._condition:
            self._watched = False
            now = time.monotonic()
            for call in list(self._active):
                if now - call.started >= self.timeout:
                    call.given_up = True
                    self._active.discard(call)
                    late.append(call)
                    self._threads -= 1
                    self._lost += 1
                    self._startThread()
            if self._active and self._running:
                self._watch(min(call.started for call in self._active)
                            + self.timeout - now)
        for call in late:
            self.log.error('%s at %s takes more than %s seconds',
                           call.description, self.name, self.timeout)
            self._end(call, None, TimeoutError(
                f'no answer in {self.timeout:g} seconds'))

    def stop(self) -> None:
        with self._condition:
            self._running = False
            self._calls.clear()
            self._condition.notify_all()

    def join(self, timeout: float) -> None:
        """Wait for the calls that are under way, not for ever."""
        end = time.monotonic() + timeout
        with self._condition:
            while (self._active or self._ending) and time.monotonic() < end:
                self._condition.wait(end - time.monotonic())

    def length(self) -> int:
        """:return: how many calls are under way, or could be."""
        now = time.monotonic()
        with self._condition:
            return len(self._active) + self._ending + sum(
                due <= now and not call.withdrawn
                for due, _, call in self._calls)

    def _startThread(self) -> None:
        """Have one more thread, if that has something to do and may be."""
        most = self.workers if self._lost < MOST_LOST else 1
        if self._threads < most and self._idle < len(self._calls):
            self._threads += 1
            threading.Thread(target=self._run, name=f'Endpoint {self.name}',
                             daemon=True).start()

    def _run(self) -> None:
        while (call := self._take()) is not None:
            result: object = None
            error: Exception | None = None
            try:
                self._start(call.endpoint)
                # That may have taken so long that somebody else is at it.
                if not call.given_up:
                    result = call.function()
            except Exception as raised:
                error = raised
            with self._condition:
                if call.given_up:
                    # Somebody else has this thread's place, or will have.
                    self._lost -= 1
                    self._startThread()
                    return
                self._active.discard(call)
                self._ending += 1
            self._end(call, result, error)
            with self._condition:
                self._ending -= 1
                if not self._running:
                    self._condition.notify_all()

    def _start(self, endpoint: Endpoint) -> None:
        """Start an endpoint, unless it is: drivers may have to ask the
        cloud for that, and may fail."""
        if endpoint.started:
            return
        # If one hangs, its thread is lost, and no other one.
        if not self._start_lock.acquire(timeout=self.timeout):
            raise TimeoutError(f'not started in {self.timeout:g} seconds')
        try:
            _startAfresh(endpoint)
        finally:
            self._start_lock.release()
        self.started()

    def _take(self) -> Call | None:
        """:return: the next call, as soon as it may begin; None at the
            end."""
        with self._condition:
            self._idle += 1
            while self._running and (
                    due := self._getDue()) > time.monotonic():
                self._waitUntil(due)
            self._idle -= 1
            if not self._running:
                return None
            _, _, call = heapq.heappop(self._calls)
            call.started = time.monotonic()
            self._next_time = call.started + self.interval
            self._active.add(call)
            if not self._watched:
                self._watch(self.timeout)
            # This thread may have been the one that looks after the time.
            self._tell()
            return call

    def _tell(self) -> None:
        """Have an idle thread look, unless one looks in time by itself."""
        if self._getDue() < self._awake_at:
            self._condition.notify()

    def _getDue(self) -> float:
        """:return: when the next call may begin."""
        while self._calls and self._calls[0][2].withdrawn:
            heapq.heappop(self._calls)
        if not self._calls:
            return math.inf
        return max(self._calls[0][0], self._next_time)

    def _waitUntil(self, due: float) -> None:
        """Wait until something has changed; one thread looks after the
        time, for all."""
        if due >= self._awake_at:
            self._condition.wait()
            return
        self._awake_at = due
        self._condition.wait(due - time.monotonic())
        if self._awake_at == due:
            self._awake_at = math.inf

    def _watch(self, delay: float) -> None:
        self._watched = True
        self.watch(delay)

    def _end(self, call: Call, result: object,
             error: Exception | None) -> None:
        try:
            call.done(result, error)
        except Exception:
            self.log.exception('%s:', call.description)


class EndpointPools:
    """
    :param workers: threads for each endpoint.
    :param timeout: seconds that a call may take.
    :param watch: called with the name of an endpoint and seconds;
        :meth:`check` is to be called for it after that time.
    :param started: called when an endpoint is started.
    """

    def __init__(self, workers: int, timeout: float,
                 watch: Callable[[str, float], object],
                 started: Callable[[], object]) -> None:
        self.workers = workers
        self.timeout = timeout
        self.watch = watch
        self.started = started
        self._pools: dict[str, Pool] = {}
        self._lock = threading.Lock()

    def submit(self, endpoint: Endpoint, function: Callable[[], Result],
               done: Done[Result], description: str,
               delay: float = 0) -> Callable[[], bool]:
        """Call a function in one of the endpoint's threads.

        Before its first call, an endpoint is started, in the same way and
        in the same time: what keeps it from that fails the call.

        :param delay: seconds before which it must not begin.
        :return: a function that withdraws the call; it tells whether it
            has not begun, and will not.
        """
        pool = self._get(endpoint)
        call = Call(endpoint, function, done, description)
        pool.submit(call, delay)
        return functools.partial(pool.withdraw, call)

    def check(self, name: str) -> None:
        if pool := self._pools.get(name):
            pool.check()

    def length(self) -> int:
        return sum(pool.length() for pool in list(self._pools.values()))

    def stop(self) -> None:
        with self._lock:
            for pool in self._pools.values():
                pool.stop()

    def join(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        for pool in list(self._pools.values()):
            pool.join(end - time.monotonic())

    def _get(self, endpoint: Endpoint) -> Pool:
        name = endpoint.canonical_name
        with self._lock:
            if name not in self._pools:
                # Most drivers keep to the rate of their connection by
                # themselves.
                rate = None if hasattr(endpoint, 'rate_limiter') else getattr(
                    endpoint.connection, 'rate', None)
                self._pools[name] = Pool(
                    name, self.workers, self.timeout, rate,
                    lambda delay: self.watch(name, delay), self.started)
            return self._pools[name]


def _startAfresh(endpoint: Endpoint) -> None:
    """Start an endpoint, or leave it as it was: drivers of Zuul's wrap
    methods of theirs, and would do so once more each time they fail."""
    before = set(vars(endpoint))
    try:
        endpoint.start()
    except BaseException:
        for name in vars(endpoint).keys() - before:
            delattr(endpoint, name)
        raise
