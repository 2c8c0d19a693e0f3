"""The launcher as a component: inside the scheduler, or on its own.

For now this hosts Zuul's own launcher.  What belongs to a process
rather than to the work (a command socket, a monitoring server, the
export of traces) is left out, for the process has it already: the
scheduler, or :mod:`zuul_nodes.launcher.process`.
"""

import copy
import queue
import secrets
import socket

from zuul.launcher import server
from zuul.lib.config import get_default

from zuul_nodes.launcher.keyscan import HostKeyCheck
from zuul_nodes.launcher.minready import MinReadyMixin
from zuul_nodes.launcher.quota import QuotaMixin
from zuul_nodes.launcher.registration import RegistrationMixin
from zuul_nodes.launcher.scope import ScopeMixin
from zuul_nodes.launcher.tempdir import TempDirectory


class Launcher(ScopeMixin, QuotaMixin, MinReadyMixin, RegistrationMixin,
               HostKeyCheck, server.Launcher):
    """
    :param ConfigParser config: zuul.conf
    :param ConnectionRegistry connections: the launcher's own; stopped
        with it.
    :param str _hostname: its name in the component registry, for tests.
    """

    def __init__(self, config, connections, _hostname=None):
        name = _hostname or makeName()
        self.own_temp_directory = TempDirectory(
            get_default(config, 'launcher', 'temp_dir', '/tmp',
                        expand_user=True), name)
        super().__init__(self._makeConfig(config), connections, name)
        self.command_socket = NoCommandSocket()

    def _makeConfig(self, config):
        """:return: a copy of ``config`` for a launcher in a process."""
        config = copy.deepcopy(config)
        config.remove_section('tracing')
        if not config.has_section('launcher'):
            config.add_section('launcher')
        config.remove_option('launcher', 'prometheus_port')
        # Zuul's launcher empties its directory when it starts.
        config.set('launcher', 'temp_dir',
                   str(self.own_temp_directory.path).replace('%', '%%'))
        return config

    def stop(self):
        """Stop; what has not begun of the uploads is left to others."""
        for executor in (self.upload_executor, self.endpoint_import_executor,
                         self.endpoint_upload_executor):
            executor.shutdown(wait=False, cancel_futures=True)
        super().stop()

    def join(self):
        """Returns when all that the launcher did has ended."""
        super().join()
        self.own_temp_directory.remove()


def makeName():
    """:return: a name that no other launcher has.

    Work is divided over launchers by name, also over several on one host.
    """
    return f'{socket.getfqdn()}-{secrets.token_hex(4)}'


class NoCommandSocket:
    """In place of a command socket: no command ever comes."""

    def __init__(self):
        self.queue = queue.Queue()

    def start(self):
        pass

    def stop(self):
        self.queue.put(('_stop', []))

    def get(self):
        return self.queue.get()
