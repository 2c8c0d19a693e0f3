"""Find and kill every process of one run.

A service's descendants may have been adopted by init, may be in sessions of
their own, or may be shells that a job started over ssh; and process ids are
reused.  But all of them, and no other processes, have a variable with a random
value in their environment.  Services inherit it, and the node's sshd sets it
for its sessions.  A run can therefore kill all of its processes and no others,
even those of an earlier run that was killed.
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
    """:return: the processes of a run, without the current process."""
    return [process for value, process in processes.find(VARIABLE)
            if value == run and process.pid != os.getpid()]


def end(run, timeout=10):
    """Kill all processes of a run, and wait until they are gone."""
    def noneLeft():
        left = find(run)
        for process in left:
            # psutil checks that the process id was not reused.
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        return not left
    waitFor(noneLeft, 'processes of the run cannot be ended', timeout)
