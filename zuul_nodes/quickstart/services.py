"""The processes of one run, by name."""

import collections
import time

from zuul_nodes.quickstart.api import Unavailable
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.process import POLL_INTERVAL, Process, waitFor

# Seconds for all services to end, after which they are killed.  The next run
# discards their state anyway.
STOP_TIMEOUT = 5
# A process is not started again that has ended more often than this number of
# times in this number of seconds.
RESTARTS, RESTART_SECONDS = 3, 60


class Services:
    """Starts, watches and stops processes.

    :param log_directory: for the log of each process.
    :param dict environment: the environment of each process.
    :ivar dict processes: name -> Process, for all started processes.  A caller
        that ends a process on purpose must remove it here: waits fail when a
        process in this dict has ended.
    """

    def __init__(self, log_directory, environment):
        self.log_directory = log_directory
        self.environment = environment
        self.processes = {}

    def logFile(self, name):
        """:return: the log file of a process."""
        return self.log_directory / f'{name}.log'

    def start(self, name, command):
        """Start a program without waiting for it.

        :return: its Process.
        """
        process = Process(name, command, self.logFile(name),
                          self.environment)
        self.processes[name] = process
        process.start()
        return process

    def waitFor(self, predicate, what, timeout, name):
        """Wait until the predicate is true; it may raise Unavailable.

        :param str what: the problem to report after a time-out.
        :param float timeout: the limit in seconds.
        :param str name: the process whose log is shown after a time-out.
        :raises Failure: the time-out expired, or a process has ended.
        """
        def available():
            try:
                return predicate()
            except Unavailable:
                return False
        return waitFor(available, what, timeout, self.processes.values(),
                       self.logFile(name))

    def keepRunning(self, note):
        """Start processes again that end, forever.

        :param note: called with a line about each process that has ended.
        :raises Failure: a process ends again and again.
        """
        ends = {name: collections.deque([-RESTART_SECONDS] * RESTARTS,
                                        RESTARTS) for name in self.processes}
        while True:
            for name, process in self.processes.items():
                try:
                    process.checkAlive()
                except Failure as failure:
                    now = time.monotonic()
                    if now - ends[name][0] < RESTART_SECONDS:
                        raise
                    ends[name].append(now)
                    note(f'{failure.reason}; it is started again')
                    process.start()
            time.sleep(POLL_INTERVAL)

    def stop(self, last, note):
        """Stop all processes at the same time, except one that stops last.

        :param str last: the process that the others need for their shutdown.
        :param note: called with a line about each process that is killed.
        """
        last = self.processes.pop(last, None)
        for process in self.processes.values():
            process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in self.processes.values():
            if not process.stop(max(0, deadline - time.monotonic())):
                note(f'{process.name} did not end within {STOP_TIMEOUT} s '
                     f'and was killed')
        if last:
            last.stop()
        self.processes.clear()
