"""Enforce the limits of nodes with control groups of version 2.

The kernel's documentation, admin-guide/cgroup-v2, explains the files.
"""

import contextlib
import errno
import pathlib
import time

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.local.sandbox import ENDING, PAUSE

CONTROLLERS = ('cpu', 'memory', 'pids')
# Period of the processor limit, in microseconds.
PERIOD = 100000


class Cgroups:
    """Creates a control group for each node.

    :param str path: of a group that is delegated to the launcher and has no
        processes; the groups of nodes are in it.
    :param int max_pids: maximum number of processes and threads of a node.
    """

    def __init__(self, path, max_pids):
        self.directory = pathlib.Path(path)
        self.max_pids = max_pids

    def limit(self, name, limits, find):
        """Set the limits of a node and move its processes into its group.

        The call has no effect if it is repeated.

        :param str name: of the node.
        :param dict limits: may have ``cores``, and ``ram`` in MiB.
        :param find: returns the ids of the node's processes, a set.
        :raises DriverError: the launcher cannot set the limits.
        """
        group = self.directory / name
        try:
            self._prepare()
            group.mkdir(exist_ok=True)
            (group / 'pids.max').write_text(str(self.max_pids))
            if cores := limits.get('cores'):
                (group / 'cpu.max').write_text(f'{cores * PERIOD} {PERIOD}')
            if ram := limits.get('ram'):
                (group / 'memory.max').write_text(str(ram << 20))
                # Missing if the kernel does not account for swap.
                if (swap := group / 'memory.swap.max').exists():
                    swap.write_text('0')
            moved = set()
            # Repeat for processes that were started before the move.
            while new := find() - moved:
                for number in new:
                    with contextlib.suppress(ProcessLookupError):
                        (group / 'cgroup.procs').write_text(str(number))
                moved |= new
        except OSError as error:
            raise DriverError(
                f'Unable to set the limits of the node: {error}') from error

    def removeGroup(self, name):
        """Delete the group of a node whose processes have ended; do nothing
        if it does not exist.

        :raises OSError: the group has processes.
        """
        end = time.monotonic() + ENDING
        while True:
            try:
                (self.directory / name).rmdir()
                return
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > end:
                    raise
            # A process that has released its memory has lost its mark, but
            # remains in the group until it has ended.
            time.sleep(PAUSE)

    def _prepare(self):
        there = (self.directory / 'cgroup.controllers').read_text().split()
        for each in CONTROLLERS:
            if each not in there:
                raise DriverError(
                    f'The cgroup {self.directory} has no controller "{each}"')
        (self.directory / 'cgroup.subtree_control').write_text(
            ' '.join(f'+{each}' for each in CONTROLLERS))
