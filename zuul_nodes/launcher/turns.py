"""How the threads of a launcher take turns.

Python runs one thread at a time.  A thread that is woken may still get the
processor of the one that woke it, only to find that the latter has Python,
and to go to sleep again: two switches for nothing, many times for each
request.  Linux spares them for threads that it takes for a batch: woken,
they wait until the other has done its part.
"""

import contextlib
import os


@contextlib.contextmanager
def takenInTurn():
    """Have all threads that the calling one starts meanwhile, and those
    that they start, wait for their turn when they are woken.

    See ``SCHED_BATCH`` in sched(7).  Where the operator has chosen how the
    process is scheduled, or where this is not allowed, nothing changes.
    """
    before = os.sched_getscheduler(0)
    if before != os.SCHED_OTHER:
        yield
        return
    _schedule(os.SCHED_BATCH)
    try:
        yield
    finally:
        _schedule(before)


def _schedule(policy):
    # Some sandboxes do not allow it.
    with contextlib.suppress(OSError):
        # 0 is the calling thread.
        os.sched_setscheduler(0, policy, os.sched_param(0))
