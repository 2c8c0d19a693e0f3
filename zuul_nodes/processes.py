"""Processes, found by a variable in their environment."""

import contextlib
import time

import psutil

# Seconds.  For so long may an exec take, and between two looks at it.
PATIENCE = 10
PAUSE = 0.001


def find(variable):
    """
    :param str variable: its name.
    :return: an iterator over the processes of this machine which have the
        variable and which we may look into: (value, process).
    """
    for process in psutil.process_iter():
        # Others' can't be read, and some have ended meanwhile.
        with contextlib.suppress(psutil.Error):
            if value := _getEnvironment(process).get(variable):
                yield value, process


def _getEnvironment(process):
    """:return: a dict.  Amid an exec, which takes long on a busy machine, a
        process has neither environment nor arguments; then it is that of
        the new program."""
    end = time.monotonic() + PATIENCE
    while not (environment := process.environ()):
        # The kernel's own have no program, nor have those that have ended.
        if not process.exe() or time.monotonic() > end:
            break
        if process.cmdline():
            # It has no environment, or the exec has just ended.
            return process.environ()
        time.sleep(PAUSE)
    return environment
