"""Controls the launcher's process for the kit."""

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

# Seconds until a launcher has to start.
START_TIMEOUT = 120
# Seconds between two checks of a process.
PAUSE = 0.02
# Log lines that show problems.
TROUBLE = re.compile(r'^\S+ \S+ (WARNING|ERROR|CRITICAL) ')
MOST_LINES = 15


# Modules to preload: the launcher, and the driver of the first test.  There is
# only one such server in a process, so other tests inherit its imports.
_modules = ['zuul_nodes.testing.launcher']


def preload(driver_class: type[ZuulDriver]) -> None:
    """Preload a driver's module, so that launchers start quickly; no effect
    after the first launcher."""
    if driver_class.__module__ not in _modules:
        _modules.append(driver_class.__module__)


@functools.cache
def _getContext() -> ForkServerContext:
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(_modules)
    return context


class LauncherProcess:
    """The process of a launcher.

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
        """Start the launcher; return before it begins to work, or if it has
        ended already.

        :raises TimeoutError: it does not start in time.
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
        """Kill the launcher unless it has ended, and end its session with
        ZooKeeper."""
        if self._process is None:
            return
        self._process.kill()
        self._process.join()
        self._process = None
        self._endSession()

    def stop(self) -> None:
        """Tell the launcher to stop; return at once."""
        assert self._process is not None, 'the launcher was not started'
        self._process.terminate()

    @property
    def status(self) -> int | None:
        """:return: the exit status of the process, or None."""
        return None if self._process is None else self._process.exitcode

    def _endSession(self) -> None:
        """End the session, which ZooKeeper would keep for some seconds."""
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
        """:return: the last lines of its log that show problems."""
        try:
            lines = (self.directory / LOG).read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line for line in lines if TROUBLE.match(line)][-MOST_LINES:]
