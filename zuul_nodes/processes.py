"""Find processes by a variable in their environment."""

import contextlib
import time

import psutil

# Seconds between checks of an exec.
PAUSE = 0.001
# How often an environment is empty that is not that of an exec.
EMPTY = 20


def find(variable, timeout=10):
    """
    :param str variable: its name.
    :param float timeout: seconds that an exec may take.
    :return: an iterator over the processes of this machine that have the
        variable and that this process may inspect: (value, process).
    """
    for process in psutil.process_iter():
        # Skip processes of other users, and those that have just ended.
        with contextlib.suppress(psutil.Error):
            if value := _getEnvironment(process, timeout).get(variable):
                yield value, process


def _getEnvironment(process, timeout):
    """Read the environment of a process.

    During an exec, a process has neither an environment nor arguments.  This
    function waits for the environment of the new program, which may take
    long on a busy machine.

    :return: a dict.
    """
    end = time.monotonic() + timeout
    empty = 0
    while not (environment := process.environ()):
        # Kernel threads and ended processes have no executable.
        if not process.exe() or time.monotonic() > end:
            break
        if not process.cmdline():
            time.sleep(PAUSE)
            continue
        # The environment is empty, or an exec has just ended, and there may
        # be another one.
        empty += 1
        if empty == EMPTY:
            break
    return environment
