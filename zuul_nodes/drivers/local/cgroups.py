"""Limits of nodes, where the machine has control groups of version 2.

What the files mean is in the kernel's documentation,
admin-guide/cgroup-v2.
"""

import contextlib
import errno
import pathlib
import time

from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.local.sandbox import ENDING, PAUSE

CONTROLLERS = ('cpu', 'memory', 'pids')
# Microseconds in which a node has its share of the processors.
PERIOD = 100000


class Cgroups:
    """
    :param str path: of a group that is left to the launcher, with no
        processes in it; each node gets a group there.
    :param int max_pids: how many processes and threads a node may have.
    """

    def __init__(self, path, max_pids):
        self.directory = pathlib.Path(path)
        self.max_pids = max_pids

    def limit(self, name, limits, find):
        """Set the limits of a node and of the processes that it has;
        nothing is changed if that was done before.

        :param str name: of the node.
        :param dict limits: may have ``cores``, and ``ram`` in MiB.
        :param find: gives the numbers of the node's processes, a set.
        :raises DriverError: the launcher can not do that.
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
                # Not there if the kernel does not count it.
                if (swap := group / 'memory.swap.max').exists():
                    swap.write_text('0')
            moved = set()
            # Those that a process has started before it was moved.
            while new := find() - moved:
                for number in new:
                    with contextlib.suppress(ProcessLookupError):
                        (group / 'cgroup.procs').write_text(str(number))
                moved |= new
        except OSError as error:
            raise DriverError(
                f'The limits of the node can not be set: {error}') from error

    def remove(self, name):
        """Remove the group of a node that has no processes any more;
        nothing if there is none.

        :raises OSError: it has some.
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
            # A process that has given back its memory can't be found by
            # its mark any more, but is in the group until its end.
            time.sleep(PAUSE)

    def _prepare(self):
        there = (self.directory / 'cgroup.controllers').read_text().split()
        for each in CONTROLLERS:
            if each not in there:
                raise DriverError(
                    f'The cgroup {self.directory} has no controller "{each}"')
        (self.directory / 'cgroup.subtree_control').write_text(
            ' '.join(f'+{each}' for each in CONTROLLERS))
