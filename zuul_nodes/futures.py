"""Calls of functions in threads of their own.

Python cannot end a thread.  A caller that waits with a time-out gives up its
Future, and the thread goes on alone.
"""

from collections.abc import Callable
from concurrent.futures import Future
import threading
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple('Arguments')
Result = TypeVar('Result')


def begin(name: str, function: Callable[[*Arguments], Result],
          *args: *Arguments) -> Future[Result]:
    """Call a function in a thread of its own.

    :param name: of the thread.
    :return: a Future of the function's result.
    :raises RuntimeError: the process cannot have another thread.
    """
    future: Future[Result] = Future()
    # When Python exits, it waits for threads that are not daemons.
    threading.Thread(target=fulfil, args=(future, function, args), name=name,
                     daemon=True).start()
    return future


def fulfil(future: Future[Result], function: Callable[[*Arguments], Result],
           args: tuple[*Arguments]) -> None:
    """Set a Future to what a function returns or raises."""
    try:
        result = function(*args)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
