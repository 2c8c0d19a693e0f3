"""Threads for driver calls, separate for each endpoint.

A cloud that is slow, hangs or limits the rate of calls blocks only the threads
of its own endpoint.  Threads without calls end after some time, and so does
the pool of an endpoint that is gone.
"""

from collections.abc import Callable
import dataclasses
import functools
import heapq
import itertools
import logging
import math
import threading
import time
from typing import Any, Protocol, TypeVar

from zuul_nodes.drivers import rates
from zuul_nodes.launcher.settings import Settings

Result = TypeVar('Result')
# Called with the result and None, or with None and the error.
Done = Callable[[Result | None, Exception | None], object]



class Endpoint(Protocol):
    """The part of a driver's endpoint that the pools use."""

    @property
    def started(self) -> bool:
        ...

    @property
    def canonical_name(self) -> str:
        ...

    @property
    def connection(self) -> Any:
        """Its connection, which may have a ``rate`` in calls per second."""

    def start(self) -> object:
        ...


Failed = Callable[[Endpoint, Exception], object]


class Call:
    """A call of a driver that waits or runs.

    :param endpoint: the endpoint that is called.
    :param function: makes the call.
    :param done: called with the result and None, or with None and the error.
    :param description: of the call, for log lines.
    :ivar due: when the call may begin, of the monotonic clock.
    """

    def __init__(self, endpoint: Endpoint, function: Callable[[], Any],
                 done: Done[Any], description: str) -> None:
        self.endpoint = endpoint
        self.function = function
        self.done = done
        self.description = description
        self.due = math.inf
        # When the call began, of the monotonic clock.
        self.started = math.inf
        self.given_up = False
        self.withdrawn = False


@dataclasses.dataclass(frozen=True)
class Hooks:
    """What a pool tells and asks.

    :ivar watch: called with seconds; arranges that :meth:`Pool.check` is
        called after that time.
    :ivar started: called when an endpoint has started.
    :ivar idle: called when the last thread has ended for lack of calls.
    :ivar mayBegin: returns whether calls may begin now.
    :ivar failed: as of :class:`EndpointPools`.
    """
    watch: Callable[[float], object]
    started: Callable[[], object]
    idle: Callable[[], object] = lambda: None
    mayBegin: Callable[[], bool] = lambda: True
    failed: Failed = lambda endpoint, error: None


class Pool:
    """The threads of one endpoint.

    :param name: the endpoint's canonical name.
    :param limiter: of the rate of calls, or None.
    :param settings: of the launcher.
    :param hooks: what the pool tells and asks.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, name: str,
                 limiter: rates.ConnectionRateLimiter | None,
                 settings: Settings, hooks: Hooks) -> None:
        self.name = name
        self.workers = settings.endpoint_workers
        self.timeout = settings.call_timeout
        self.beat = settings.call_beat
        self.most_hanging = settings.most_hanging_calls
        self.limiter = limiter
        self.watch = hooks.watch
        self.started = hooks.started
        self.idle = hooks.idle
        self.mayBegin = hooks.mayBegin
        self.failed = hooks.failed
        self.idle_time = settings.endpoint_idle_time
        self._start_lock = threading.Lock()
        self._condition = threading.Condition()
        # (earliest start, sequence number, call)
        self._calls: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        # When the next idle thread wakes up without being notified.
        self._awake_at = math.inf
        self._active: set[Call] = set()
        self._threads = 0
        # Number of threads that hang in calls that were given up.
        self._hanging = 0
        self._is_stuck = False
        self._idle = 0
        self._ending = 0
        self._watched = False
        self._running = True

    def submit(self, call: Call, delay: float = 0) -> None:
        """Queue a call.

        :param delay: seconds before the call may begin.  A call with a delay
            begins at the next multiple of ``call_beat`` after it.
        """
        with self._condition:
            if not self._running:
                return
            call.due = time.monotonic() + delay
            if delay:
                call.due = math.ceil(call.due / self.beat) * self.beat
            heapq.heappush(self._calls, (call.due, next(self._order), call))
            self._notifyIdle()
            self._startThread()

    def withdraw(self, call: Call) -> bool:
        """Withdraw a call unless it has begun.

        :return: whether the call was withdrawn.
        """
        with self._condition:
            call.withdrawn = call.started == math.inf
            return call.withdrawn

    def check(self) -> None:
        """Give up calls that exceed their time-out.

        Python cannot end a thread.  A new thread replaces one that hangs,
        unless too many hang.  The result of a call that was given up is
        ignored.
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
                    self._hanging += 1
                    self._is_stuck = True
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
            self._stop()

    def end(self) -> bool:
        """Stop if there are neither calls nor threads, not even some that
        hang.

        :return: whether the pool has stopped.
        """
        with self._condition:
            if self._threads or self._hanging or self._calls:
                return False
            self._stop()
            return True

    def _stop(self) -> None:
        self._running = False
        self._calls.clear()
        self._condition.notify_all()

    def join(self, timeout: float) -> None:
        """Wait for running calls, up to a time-out.

        :param timeout: in seconds.
        """
        end = time.monotonic() + timeout
        with self._condition:
            while (self._active or self._ending) and time.monotonic() < end:
                self._condition.wait(end - time.monotonic())

    def isStuck(self) -> bool:
        """:return: whether no call has returned since one was given up."""
        return self._is_stuck

    def isExhausted(self) -> bool:
        """:return: whether as many threads hang as may."""
        return self._hanging >= self.most_hanging

    def length(self) -> int:
        """:return: number of calls that are running or due."""
        now = time.monotonic()
        with self._condition:
            return len(self._active) + self._ending + sum(
                due <= now and not call.withdrawn
                for due, _, call in self._calls)

    def _startThread(self) -> None:
        """Start another thread if calls are waiting and the limit allows."""
        most = self.workers if self._hanging < self.most_hanging else 1
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
                # check() may have given up the call during the start.
                if not call.given_up:
                    result = call.function()
            except Exception as raised:
                error = raised
                self._noteError(call, raised)
            with self._condition:
                if call.given_up:
                    # Another thread has replaced this one, or now can.
                    self._hanging -= 1
                    self._startThread()
                    break
                self._active.discard(call)
                self._is_stuck = False
                self._ending += 1
            self._end(call, result, error)
            with self._condition:
                self._ending -= 1
                if not self._running:
                    self._condition.notify_all()
        if not self._threads:
            self.idle()

    def _noteError(self, call: Call, error: Exception) -> None:
        try:
            self.failed(call.endpoint, error)
        except Exception:
            self.log.exception('After an error of %s:', call.description)

    def _start(self, endpoint: Endpoint) -> None:
        """Start an endpoint that has not started yet.

        Some drivers call the cloud for that.

        :raises TimeoutError: another thread is still starting it.
        :raises Exception: any exception of the driver.
        """
        if endpoint.started:
            return
        # If the start hangs, only the thread that runs it is lost.
        if not self._start_lock.acquire(timeout=self.timeout):
            raise TimeoutError(f'not started in {self.timeout:g} seconds')
        try:
            _startAfresh(endpoint)
        finally:
            self._start_lock.release()
        self.started()

    def _take(self) -> Call | None:
        """Wait for the next call that may begin.

        :return: the call; None when the pool stops, or has no calls for some
            time.
        """
        with self._condition:
            self._idle += 1
            is_needed = True
            while self._running and not self._mayBegin():
                if not self._waitUntil(self._getDue()) and (
                        self._getDue() == math.inf):
                    is_needed = False
                    break
            self._idle -= 1
            if not (self._running and is_needed):
                self._threads -= 1
                return None
            _, _, call = heapq.heappop(self._calls)
            call.started = time.monotonic()
            self._active.add(call)
            if not self._watched:
                self._watch(self.timeout)
            # This thread may have been the one that wakes up by itself.
            self._notifyIdle()
            return call

    def _mayBegin(self) -> bool:
        """:return: whether a call may begin now; if so, it has to."""
        return self._getDue() <= time.monotonic() and (
            self.limiter is None or self.limiter.begin())

    def _notifyIdle(self) -> None:
        """Notify an idle thread, unless one wakes up by itself in time."""
        if self._getDue() < self._awake_at:
            self._condition.notify()

    def _getDue(self) -> float:
        """:return: when the next call may begin, of the monotonic clock."""
        while self._calls and self._calls[0][2].withdrawn:
            heapq.heappop(self._calls)
        if not self._calls:
            return math.inf
        due = self._calls[0][0]
        if self.limiter:
            due = max(due, self.limiter.due)
        now = time.monotonic()
        if due <= now and not self.mayBegin():
            return now + self.beat
        return due

    def _waitUntil(self, due: float) -> bool:
        """Wait for a notification; one thread also waits for the time.

        :return: whether there was a reason to wake up.
        """
        if due >= self._awake_at:
            return self._condition.wait(self.idle_time)
        self._awake_at = due
        self._condition.wait(due - time.monotonic())
        if self._awake_at == due:
            self._awake_at = math.inf
        return True

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
    """Calls drivers in the threads of their endpoints.

    :param settings: of the launcher.
    :param watch: called with the name of an endpoint and seconds; arranges
        that :meth:`check` is called for the endpoint after that time.
    :param started: called when an endpoint has started.
    :param mayBegin: returns whether calls may begin now; until then, they
        wait.
    :param failed: called with an endpoint and the error of its start or of a
        call, in the same thread, before the call ends.
    """

    def __init__(self, settings: Settings,
                 watch: Callable[[str, float], object],
                 started: Callable[[], object],
                 mayBegin: Callable[[], bool] = lambda: True,
                 failed: Failed = lambda endpoint, error: None) -> None:
        self.settings = settings
        self.watch = watch
        self.started = started
        self.mayBegin = mayBegin
        self.failed = failed
        self._pools: dict[str, Pool] = {}
        self._lock = threading.Lock()

    def submit(self, endpoint: Endpoint, function: Callable[[], Result],
               done: Done[Result], description: str,
               delay: float = 0) -> Callable[[], bool]:
        """Call a function in one of the endpoint's threads.

        Before its first call, an endpoint is started in the same thread and
        within the same time-out.  If the start fails, so does the call.

        :param done: called with the result and None, or with None and the
            error.
        :param description: of the call, for log lines.
        :param delay: seconds before the call may begin.
        :return: a function that withdraws the call and returns whether the
            call has not begun.
        """
        call = Call(endpoint, function, done, description)
        with self._lock:
            # Otherwise the pool could end before it has the call.
            pool = self._getPool(endpoint)
            pool.submit(call, delay)
        return functools.partial(pool.withdraw, call)

    def check(self, name: str) -> None:
        if pool := self._pools.get(name):
            pool.check()

    def hasPool(self, name: str) -> bool:
        """:return: whether an endpoint has threads."""
        return name in self._pools

    def countStuck(self) -> int:
        """:return: number of endpoints whose calls do not return."""
        return sum(pool.isStuck() for pool in list(self._pools.values()))

    def hasExhausted(self) -> bool:
        """:return: whether so many threads hang at an endpoint that one is
            left for its calls."""
        return any(pool.isExhausted() for pool in list(self._pools.values()))

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

    def getPool(self, endpoint: Endpoint) -> Pool:
        """:return: the pool of an endpoint, which is created if needed."""
        with self._lock:
            return self._getPool(endpoint)

    def _getPool(self, endpoint: Endpoint) -> Pool:
        name = endpoint.canonical_name
        if name not in self._pools:
            rates.shareLimiters(endpoint)
            # Most drivers limit the rate of calls themselves.
            limiter = (None if hasattr(endpoint, 'rate_limiter')
                       else rates.getLimiter(endpoint.connection))
            self._pools[name] = Pool(
                name, limiter, self.settings, Hooks(
                    lambda delay: self.watch(name, delay), self.started,
                    functools.partial(self._endIdle, name), self.mayBegin,
                    self.failed))
        return self._pools[name]

    def _endIdle(self, name: str) -> None:
        """Forget the pool of an endpoint that may be gone."""
        with self._lock:
            if (pool := self._pools.get(name)) and pool.end():
                del self._pools[name]


def _startAfresh(endpoint: Endpoint) -> None:
    """Start an endpoint, and undo its changes to itself on failure.

    Drivers of Zuul wrap methods of their endpoints in ``start``, and would
    wrap them again at each attempt.
    """
    before = set(vars(endpoint))
    try:
        endpoint.start()
    except BaseException:
        for name in vars(endpoint).keys() - before:
            delattr(endpoint, name)
        raise
