"""The launcher as a component: inside the scheduler, or on its own.

For now this hosts Zuul's own launcher.  What belongs to a process
rather than to the work (a command socket, a monitoring server, the
export of traces) is left out, for the process has it already: the
scheduler, or :mod:`zuul_nodes.cmd.launcher`.
"""

import copy
import os
import queue
import socket

from zuul.launcher import server
from zuul.lib.config import get_default


class Launcher(server.Launcher):
    """
    :param ConfigParser config: zuul.conf
    :param ConnectionRegistry connections: the launcher's own; stopped
        with it.
    :param str _hostname: its name in the component registry, for tests.
    """

    def __init__(self, config, connections, _hostname=None):
        super().__init__(withoutProcessOptions(config), connections,
                         _hostname or getName(config))
        self.command_socket = NoCommandSocket()


def getName(config):
    """A launcher's name, by which work is divided, must be its own.

    :return: ``[launcher] hostname``, or the host's name with the
        process id: several launchers on one host differ.
    """
    return get_default(config, 'launcher', 'hostname',
                       f'{socket.getfqdn()}-{os.getpid()}')


def withoutProcessOptions(config):
    """:return: a copy of ``config`` without what a process has once."""
    config = copy.deepcopy(config)
    config.remove_section('tracing')
    if config.has_section('launcher'):
        config.remove_option('launcher', 'prometheus_port')
    return config


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
