"""Calls to a cloud at the connection's rate, with metrics and time-outs."""

import collections
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
import functools
import math
import threading
import time
from typing import TYPE_CHECKING, Any

from zuul.lib.statsd import normalize_statsd_name

from zuul_nodes.drivers.framework.rates import getLimiter
from zuul_nodes.futures import fulfil

if TYPE_CHECKING:
    from zuul_nodes.drivers.framework.endpoint import EndpointWithAdapter

# Maximum number of background calls at the same time.
WORKERS = 8
# Steps of nodes wait for a call this many times its time-out.
TIMEOUT_FACTOR = 2
KEY = 'zuul.nodes.driver.{driver}.{connection}.{call}.{outcome}'


class Calls:
    """Calls the methods of an adapter.

    :param endpoint: the endpoint with the adapter.
    :ivar numbers: name of a method -> number of calls.
    """

    def __init__(self, endpoint: 'EndpointWithAdapter') -> None:
        self.endpoint = endpoint
        self.rate_limiter = getLimiter(endpoint.connection)
        self.numbers: collections.Counter[str] = collections.Counter()
        # Calls that are running, or whose result was not read yet.
        self._tasks: dict[tuple[str, str], Task] = {}
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(WORKERS, f'Calls {endpoint.name}')

    def call(self, name: str, *args: Any) -> Any:
        """Call a method of the adapter as soon as the rate allows it.

        :return: the result of the method; a list if it lists something.
        """
        with self.rate_limiter, self._lock:
            self.numbers[name] += 1
        start = time.monotonic()
        try:
            result = getattr(self.endpoint.adapter, name)(*args)
            if name.startswith('list'):
                # A generator calls the cloud for each page.
                result = list(result)
        except BaseException as error:
            self._report(name, error, start)
            raise
        if isinstance(result, Future):
            result.add_done_callback(lambda future: self._report(
                name, future.exception(), start))
        else:
            self._report(name, None, start)
        return result

    def perform(self, key: str, name: str, *args: Any,
                limit: float | None = None) -> 'Task | None':
        """Call a method of the adapter, unless it runs for the key already.

        If the method returns a Future, no thread waits for its completion.

        :param key: the object that the call is for.
        :param limit: seconds that the call may take if it takes longer than
            usual calls; it then runs in the background.
        :return: a :class:`Task` that has ended, or None if the caller has to
            repeat the call later.
        :raises TimeoutError: the call has exceeded its limit.
        """
        with self._lock:
            task = self._tasks.get((key, name))
            is_new = task is None
            if task is None:
                task = self._tasks[key, name] = Task(
                    functools.partial(self.call, name, *args),
                    TIMEOUT_FACTOR * (limit or self.endpoint.adapter.timeout))
        if is_new and self.endpoint.driver.steps_have_threads and not limit:
            task.run()
        elif is_new:
            self._executor.submit(task.run)
        is_late = task.isLate()
        if not task.done() and not is_late:
            return None
        with self._lock:
            if self._tasks.get((key, name)) is task:
                del self._tasks[key, name]
        if not task.done():
            raise TimeoutError(
                f'the call of {name} has not ended in time')
        return task

    def isIdle(self, key: str, name: str) -> bool:
        """
        :return: whether no call of a method for a key is running, except one
            that has exceeded its limit.
        """
        with self._lock:
            task = self._tasks.get((key, name))
        return task is None or task.done() or task.isLate()

    def forgetCalls(self, key: str) -> None:
        """Discard the calls for a key, whose results are not needed."""
        with self._lock:
            for each in [each for each in self._tasks if each[0] == key]:
                del self._tasks[each]

    def stop(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _report(self, name: str, error: BaseException | None,
                start: float) -> None:
        driver = self.endpoint.driver
        if driver.statsd:
            outcome = 'success' if error is None else 'error'
            driver.statsd.timing(KEY.format(
                driver=driver.name, call=name, outcome=outcome,
                connection=normalize_statsd_name(
                    self.endpoint.connection.connection_name),
            ), (time.monotonic() - start) * 1000)


class Task(Future[Any]):
    """The result of a call, which may arrive later.

    :ivar begun: start time by the monotonic clock; infinite while the call
        waits for a thread.
    """

    def __init__(self, function: Callable[[], Any], limit: float) -> None:
        super().__init__()
        self.function = function
        self.limit = limit
        self.begun = math.inf

    def run(self) -> None:
        self.begun = time.monotonic()
        try:
            result = self.function()
        except BaseException as error:
            self.set_exception(error)
            return
        if isinstance(result, Future):
            result.add_done_callback(
                lambda future: fulfil(self, future.result, ()))
        else:
            self.set_result(result)

    def isLate(self) -> bool:
        return time.monotonic() > self.begun + self.limit
