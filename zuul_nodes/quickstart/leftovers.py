"""Finding every process of one run, however far removed.

A service's children may have been handed to init, be in sessions of their
own, or run a shell that a job started over ssh; process numbers are used
again.  What all of them share, and nobody else has, is a variable with a
random value in their environment, inherited from the services and given to
ssh sessions by the node's sshd.  So a run can end all of its processes and
none but its own, even those of a run that was killed.
"""

import os
import secrets

import psutil

from zuul_nodes import processes
from zuul_nodes.quickstart.process import waitFor

VARIABLE = 'QUICKSTART_RUN'


def newRun():
    """:return: the value of the variable for a new run."""
    return secrets.token_hex(16)


def find(run):
    """:return: the processes of this run, but not the one that asks."""
    return [process for value, process in processes.find(VARIABLE)
            if value == run and process.pid != os.getpid()]


def end(run, timeout=10):
    """Kill all processes of this run; returns when there are none."""
    def noneLeft():
        left = find(run)
        for process in left:
            # psutil sees to it that the number was not used again.
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        return not left
    waitFor(noneLeft, 'processes of the run cannot be ended', timeout)
