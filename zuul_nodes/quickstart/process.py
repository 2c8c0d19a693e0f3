"""One child process: started, watched, stopped."""

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
    :param str what: what is waited for, to be read after "timed out:".
    :param float timeout: the limit in seconds.
    :param processes: the wait is in vain when one of these has ended.
    :param log_file: tells more if the time is over.
    :return: what the predicate returned.
    :raises Failure: a process ended, or the time is over.
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

    :param str name: how it is called in messages.
    :param command: the program and its arguments, a list.
    :param log_file: the file that its output is appended to.
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
        """Start it, again if it was stopped.

        To be called from the main thread: the kernel kills the child when
        the thread that started it ends, so that no service outlives a
        quickstart that was itself killed.
        """
        log.debug('Starting %s: %s', self.name, shlex.join(self.command))
        with open(self.log_file, 'ab') as output:
            self._popen = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *self.command],
                stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=self.environment,
                # A Ctrl-C in the terminal is for the quickstart alone, which
                # then stops its children in the right order.
                start_new_session=True)

    @property
    def pid(self):
        return self._popen.pid

    @property
    def alive(self):
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def checkAlive(self):
        """:raises Failure: it was started and ended by itself."""
        if self._popen is None or self._popen.poll() is None:
            return
        status = self._popen.returncode
        how = (f'was ended by {signal.Signals(-status).name}' if status < 0
               else f'ended with status {status}')
        raise Failure(f'{self.name} {how}', self.log_file)

    def waitFor(self, predicate, what, timeout):
        """Like the function of this name; it also ends when this process
        does."""
        return waitFor(predicate, f'{self.name}: {what}', timeout,
                       [self], self.log_file)

    def finish(self, timeout):
        """Wait for the successful end of a process that ends by itself.

        :param float timeout: the limit in seconds.
        """
        waitFor(lambda: not self.alive, f'{self.name} is still running',
                timeout, log_file=self.log_file)
        if self._popen.returncode:
            self.checkAlive()
        self._popen = None

    def tail(self, count=15):
        """:return: the last lines of its output, a list."""
        return lastLines(self.log_file, count)

    def logged(self, pattern):
        """:param str pattern: a regular expression.
        :return: whether a line of its output has it."""
        with contextlib.suppress(FileNotFoundError), \
                open(self.log_file, errors='replace') as output:
            return any(re.search(pattern, line) for line in output)
        return False

    def terminate(self):
        """Ask it to end; returns at once."""
        if self.alive:
            # While it lives one can see who descends from it.
            with contextlib.suppress(psutil.NoSuchProcess):
                self._descendants = psutil.Process(self.pid).children(
                    recursive=True)
            self._popen.terminate()

    def stop(self, timeout=5):
        """Ask it to end, and kill it if it does not.  Its descendants are
        gone as well when this returns.

        :param float timeout: for how many seconds to be patient.
        :return: whether it ended by itself.
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
            # psutil knows when the number belongs to another process now.
            with contextlib.suppress(psutil.NoSuchProcess):
                descendant.kill()
        psutil.wait_procs(self._descendants, timeout)
        self._descendants = []
        self._popen = None
        return ended

    def kill(self):
        """End it and its process group without warning."""
        if self.alive:
            # It leads its process group, whose number stays taken as long
            # as the process has not been waited for.
            os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
