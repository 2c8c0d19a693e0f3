"""Calls of drivers for images: they may take hours, but not for ever.

Nobody can end a thread.  A call that takes longer than it may is left alone,
and whoever waited for it goes on.  What it still makes in a cloud is tagged
with a record that is wanted no more, so it goes as what has leaked does.
"""

import collections
from collections.abc import Callable
from concurrent.futures import Future, wait
import functools
import logging
import threading
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple('Arguments')
Result = TypeVar('Result')


class Calls:
    """
    :param option: in the section ``launcher``, that sets the time-out.
    :param timeout: seconds that a call may take.
    :param limit: how many may have been left alone at an endpoint, and
        not have ended; then no more are made there, for each of them keeps
        a thread, and perhaps an image on the disk.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, option: str, timeout: float, limit: int) -> None:
        self.option = option
        self.timeout = timeout
        self.limit = limit
        self._lock = threading.Lock()
        # Endpoint -> how many were left alone there, and have not ended.
        self._left: collections.Counter[str] = collections.Counter()

    def call(self, endpoint_name: str, description: str,
             function: Callable[[*Arguments], Result],
             *args: *Arguments) -> Result:
        """
        :param description: what is called for what, for people.
        :return: what the function returns.
        :raises TimeoutError: it does not end in time, or too many others
            have not.
        :raises Exception: whatever it raises.
        """
        what = f'{description} at endpoint {endpoint_name}'
        with self._lock:
            left = self._left[endpoint_name]
        if left >= self.limit:
            raise TimeoutError(
                f'{what} is not called: {left} calls that were given up '
                'there have not ended; it is as soon as one does, or when '
                'the launcher is started anew')
        call = begin(f'{self.option} {endpoint_name}', function, *args)
        if not wait([call], self.timeout).done:
            with self._lock:
                self._left[endpoint_name] += 1
            call.add_done_callback(
                functools.partial(self._end, endpoint_name, what))
            raise TimeoutError(
                f'{what} has not ended in {self.timeout:g} seconds, which '
                f'is "{self.option}" in the section "launcher" of zuul.conf')
        return call.result()

    def _end(self, endpoint_name: str, what: str, _: object) -> None:
        with self._lock:
            self._left[endpoint_name] -= 1
        self.log.info('%s, which was given up, has ended', what)


def begin(name: str, function: Callable[[*Arguments], Result],
          *args: *Arguments) -> Future[Result]:
    """Call a function in a thread of its own.

    :param name: of the thread.
    :return: a Future of what it returns.
    """
    future: Future[Result] = Future()
    # Python would wait at its exit for one that is no daemon.
    threading.Thread(target=fulfil, args=(future, function, args), name=name,
                     daemon=True).start()
    return future


def fulfil(future: Future[Result], function: Callable[[*Arguments], Result],
           args: tuple[*Arguments]) -> None:
    """Have a Future say what a function returns or raises."""
    try:
        result = function(*args)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
