"""How the threads of a launcher take turns.

Python runs one thread at a time.  A thread that is woken may still get the
processor of the one that woke it, only to find that the latter has Python,
and to go to sleep again: two switches for nothing, many times for each
request.  Linux spares them for threads that it takes for a batch: woken,
they wait until the other has done its part.
"""

from collections.abc import Iterator
import contextlib
import os


@contextlib.contextmanager
def takenInTurn() -> Iterator[None]:
    """Have all threads that the calling one starts meanwhile, and those
    that they start, wait for their turn when they are woken.

    See ``SCHED_BATCH`` in sched(7).  Where the operator has chosen how the
    process is scheduled, or where this is not allowed, nothing changes.
    """
    is_ours = _schedule(os.SCHED_OTHER, os.SCHED_BATCH)
    try:
        yield
    finally:
        if is_ours:
            _schedule(os.SCHED_BATCH, os.SCHED_OTHER)


def _schedule(before: int, policy: int) -> bool:
    """Change how the calling thread is scheduled.

    :return: whether that was as expected, and is changed now.
    """
    # Some sandboxes, and some C libraries, do not allow it.
    with contextlib.suppress(OSError):
        # 0 is the calling thread.
        if os.sched_getscheduler(0) == before:
            os.sched_setscheduler(0, policy, os.sched_param(0))
            return True
    return False
