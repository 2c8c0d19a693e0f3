"""Image calls of drivers, with a time-out of hours.

Python cannot end a thread.  The launcher gives up a call that exceeds its
time-out, and the thread that waited for the call goes on.  If the call still
creates an image in the cloud, the clean-up of leaks finds it by its tags,
because the record that the tags name is gone.
"""

import collections
from collections.abc import Callable
from concurrent.futures import wait
import functools
import logging
import threading

from zuul_nodes.futures import Arguments, Result, begin


class Calls:
    """Calls drivers in threads and gives up calls that take too long.

    :param option: the option of the section ``launcher`` that sets the
        time-out.
    :param timeout: seconds that a call may take.
    :param limit: number of calls at an endpoint that were given up and have
        not ended.  At this number, the launcher makes no more calls there,
        because each of them occupies a thread, and perhaps disk space.
    :ivar given_up: endpoint -> number of calls that were given up and have not
        ended.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, option: str, timeout: float, limit: int) -> None:
        self.option = option
        self.timeout = timeout
        self.limit = limit
        self._lock = threading.Lock()
        self.given_up: collections.Counter[str] = collections.Counter()

    def call(self, endpoint_name: str, description: str,
             function: Callable[[*Arguments], Result],
             *args: *Arguments) -> Result:
        """Call a function in a thread and wait for its result.

        :param description: of the call, for messages.
        :return: what the function returns.
        :raises TimeoutError: the call exceeds its time-out, or too many calls
            that were given up have not ended.
        :raises Exception: any exception of the function.
        """
        what = f'{description} at endpoint {endpoint_name}'
        with self._lock:
            given_up = self.given_up[endpoint_name]
        if given_up >= self.limit:
            raise TimeoutError(
                f'{what} is not called: {given_up} calls that were given up '
                'there have not ended; the launcher calls again when one of '
                'them ends, or after a restart')
        call = begin(f'{self.option} {endpoint_name}', function, *args)
        if not wait([call], self.timeout).done:
            with self._lock:
                self.given_up[endpoint_name] += 1
            call.add_done_callback(
                functools.partial(self._end, endpoint_name, what))
            raise TimeoutError(
                f'{what} has not ended in {self.timeout:g} seconds, the value '
                f'of "{self.option}" in the section "launcher" of zuul.conf')
        return call.result()

    def _end(self, endpoint_name: str, what: str, _: object) -> None:
        with self._lock:
            self.given_up[endpoint_name] -= 1
        self.log.info('%s was given up and has now ended', what)
