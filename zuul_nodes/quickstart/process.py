"""A child process: start, watch and stop it."""

import contextlib
import logging
import os
import re
import shlex
import signal
import subprocess
import time

import psutil

from zuul_nodes.quickstart.failure import Failure, lastLines

log = logging.getLogger('zuul.nodes.quickstart')

POLL_INTERVAL = 0.1


def waitFor(predicate, what, timeout, processes=(), log_file=None):
    """Wait until the predicate is true.

    :param predicate: called without arguments, about ten times a second.
    :param str what: the problem to report after "timed out:".
    :param float timeout: the limit in seconds.
    :param processes: the wait fails when one of these has ended.
    :param log_file: the log to report after a time-out.
    :return: the result of the predicate.
    :raises Failure: a process ended, or the time-out expired.
    """
    deadline = time.monotonic() + timeout
    while True:
        result = predicate()
        if result:
            return result
        for process in processes:
            process.checkAlive()
        if time.monotonic() > deadline:
            raise Failure(f'timed out after {timeout:g} s: {what}', log_file)
        time.sleep(POLL_INTERVAL)


class Process:
    """A child process with its output in a log file.

    :param str name: its name in messages.
    :param command: the program and its arguments, a list.
    :param log_file: the file to which its output is appended.
    :param dict environment: the complete environment of the process.
    """

    def __init__(self, name, command, log_file, environment):
        self.name = name
        self.command = [str(part) for part in command]
        self.log_file = log_file
        self.environment = environment
        self._popen = None
        self._descendants = []

    def start(self):
        """Start the process, also again after it was stopped.

        Call this from the main thread: the kernel kills the child when the
        thread that started it ends.  Therefore no service outlives a
        quickstart that was killed.
        """
        log.debug('Starting %s: %s', self.name, shlex.join(self.command))
        with open(self.log_file, 'ab') as output:
            self._popen = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *self.command],
                stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=self.environment,
                # Ctrl-C in the terminal must reach the quickstart only, which
                # then stops its children in the right order.
                start_new_session=True)

    @property
    def pid(self):
        return self._popen.pid

    @property
    def alive(self):
        """Whether the process was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def checkAlive(self):
        """:raises Failure: the process was started and has ended."""
        if self._popen is None or self._popen.poll() is None:
            return
        status = self._popen.returncode
        how = (f'was ended by {signal.Signals(-status).name}' if status < 0
               else f'ended with status {status}')
        raise Failure(f'{self.name} {how}', self.log_file)

    def waitFor(self, predicate, what, timeout):
        """Like the function of this name; also fails when this process
        ends."""
        return waitFor(predicate, f'{self.name}: {what}', timeout,
                       [self], self.log_file)

    def finish(self, timeout):
        """Wait for the success of a process that ends by itself.

        :param float timeout: the limit in seconds.
        """
        waitFor(lambda: not self.alive, f'{self.name} is still running',
                timeout, log_file=self.log_file)
        if self._popen.returncode:
            self.checkAlive()
        self._popen = None

    def tail(self, count=15):
        """:return: the last lines of the output, a list."""
        return lastLines(self.log_file, count)

    def logged(self, pattern):
        """:param str pattern: a regular expression.
        :return: whether a line of the output matches."""
        with contextlib.suppress(FileNotFoundError), \
                open(self.log_file, errors='replace') as output:
            return any(re.search(pattern, line) for line in output)
        return False

    def terminate(self):
        """Send SIGTERM and return at once."""
        if self.alive:
            # A process that has ended has no children any more.
            with contextlib.suppress(psutil.NoSuchProcess):
                self._descendants = psutil.Process(self.pid).children(
                    recursive=True)
            self._popen.terminate()

    def stop(self, timeout=5):
        """Terminate the process, and kill it after a time-out.  Kill its
        descendants as well.

        :param float timeout: seconds until the kill.
        :return: whether the process ended by itself.
        """
        if self._popen is None:
            return True
        if not self._descendants:
            self.terminate()
        try:
            self._popen.wait(timeout)
            ended = True
        except subprocess.TimeoutExpired:
            self.kill()
            ended = False
        for descendant in self._descendants:
            # psutil checks that the process id was not reused.
            with contextlib.suppress(psutil.NoSuchProcess):
                descendant.kill()
        psutil.wait_procs(self._descendants, timeout)
        self._descendants = []
        self._popen = None
        return ended

    def kill(self):
        """Kill the process and its process group."""
        if self.alive:
            # The process leads its group.  The id of the group is not reused
            # before the process has been waited for.
            os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
