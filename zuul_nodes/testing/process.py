"""The launcher's process, as the kit sees it."""

import functools
import json
import multiprocessing
from multiprocessing.context import ForkServerContext, ForkServerProcess
import os
import pathlib
import re
import time

from kazoo.client import KazooClient
from zuul.driver import Driver as ZuulDriver

from zuul_nodes.testing.launcher import LOG, SESSION, Options, run

# Seconds in which a launcher has to be there, and to come to its end.
START_TIMEOUT = 120
STOP_TIMEOUT = 20
# Between two looks.
PAUSE = 0.02
# Lines of a log that tell what is wrong.
TROUBLE = re.compile(r'^\S+ \S+ (WARNING|ERROR|CRITICAL) ')
MOST_LINES = 15


# What launchers are forked with: themselves, and the driver of the first test.
# The process from which they are forked is the only one of its kind in a
# process with tests, so other tests may find there what it has imported.
_modules = ['zuul_nodes.testing.launcher']


def preload(driver_class: type[ZuulDriver]) -> None:
    """Have launchers be there as soon with a driver, and what it imports, as
    without; of no use once there has been a launcher."""
    if driver_class.__module__ not in _modules:
        _modules.append(driver_class.__module__)


@functools.cache
def _getContext() -> ForkServerContext:
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(_modules)
    return context


class LauncherProcess:
    """
    :param args: see :func:`zuul_nodes.testing.launcher.run`.
    """

    def __init__(self, options: Options, driver_class: type[ZuulDriver],
                 directory: str | os.PathLike[str], uploading: bool) -> None:
        self.options = options
        self.driver_class = driver_class
        self.directory = pathlib.Path(directory)
        self.uploading = uploading
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        """Have it run.  Returns when it is about to begin its work, or has
        ended already.

        :raises TimeoutError: it is not there in time.
        """
        session = self.directory / SESSION
        session.unlink(missing_ok=True)
        self._process = _getContext().Process(
            target=run, daemon=True, args=(
                self.options, self.driver_class, self.directory,
                dict(os.environ), self.uploading))
        self._process.start()
        end = time.monotonic() + START_TIMEOUT
        while self.alive and not session.exists():
            if time.monotonic() > end:
                raise TimeoutError('the launcher does not start')
            time.sleep(PAUSE)

    @property
    def pid(self) -> int | None:
        """:return: the id of the process, or None."""
        return None if self._process is None else self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def kill(self) -> None:
        """End it without warning, as far as it has not ended already, and
        have ZooKeeper know at once."""
        if self._process is None:
            return
        self._process.kill()
        self._process.join()
        self._process = None
        self._endSession()

    def stop(self) -> int | None:
        """Ask it to end.

        :return: its exit status, or None if it does not end.
        """
        assert self._process is not None, 'it has not been started'
        self._process.terminate()
        self._process.join(STOP_TIMEOUT)
        return self._process.exitcode

    def _endSession(self) -> None:
        """ZooKeeper would wait some seconds for the dead to come back."""
        try:
            session_id, password = json.loads(
                (self.directory / SESSION).read_text())
        except FileNotFoundError:
            return
        options = self.options['zookeeper']
        client = KazooClient(
            hosts=options['hosts'], use_ssl=True, ca=options['tls_ca'],
            certfile=options['tls_cert'], keyfile=options['tls_key'],
            client_id=(session_id, bytes.fromhex(password)))
        client.start()
        client.stop()
        client.close()

    def getTrouble(self) -> list[str]:
        """:return: the last lines of its log that tell what is wrong."""
        try:
            lines = (self.directory / LOG).read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line for line in lines if TROUBLE.match(line)][-MOST_LINES:]
