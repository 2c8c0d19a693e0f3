"""The processes of one run, by name."""

import time

from zuul_nodes.quickstart.api import Unavailable
from zuul_nodes.quickstart.process import Process, waitFor

# Every service is asked to end at the same time; what is not gone after
# this many seconds is killed: all of its state is thrown away anyway.
STOP_TIMEOUT = 5


class Services:
    """:param log_directory: where each process has its log.
    :param dict environment: the environment of each process.
    :ivar dict processes: name -> Process of all that were started.  Whoever
        ends one on purpose takes it out, or all waiting fails.
    """

    def __init__(self, log_directory, environment):
        self.log_directory = log_directory
        self.environment = environment
        self.processes = {}

    def logFile(self, name):
        """:return: the log file of the process of this name."""
        return self.log_directory / f'{name}.log'

    def start(self, name, command):
        """Start a program; does not wait for anything.

        :return: its Process.
        """
        process = Process(name, command, self.logFile(name),
                          self.environment)
        self.processes[name] = process
        process.start()
        return process

    def waitFor(self, predicate, what, timeout, name):
        """Wait until the predicate is true; it may raise Unavailable.

        :param str what: what is waited for.
        :param float timeout: the limit in seconds.
        :param str name: whose log is shown if the time is over.
        :raises Failure: the time is over, or any process has ended.
        """
        def available():
            try:
                return predicate()
            except Unavailable:
                return False
        return waitFor(available, what, timeout, self.processes.values(),
                       self.logFile(name))

    def stop(self, last, note):
        """Stop all of them at the same time, but one after the others.

        :param str last: the one that the others need to stop well.
        :param note: called with a line if something is not as it should be.
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
