"""The launcher as a process of its own.

For sites that want it apart from the scheduler.  The work is done by the
component that the scheduler would run; this adds what a process has once:
the command socket, the monitoring server and the export of traces,
configured as for Zuul's own launcher in ``[launcher]`` and ``[tracing]``.
"""

import logging
import signal
import threading

import zuul.cmd
from zuul.launcher.server import COMMANDS
from zuul.lib import commandsocket, monitoring, repl, tracing

from zuul_nodes.launcher.launcher import Launcher


class LauncherApp(zuul.cmd.ZuulDaemonApp):
    """
    :param Namespace args: the arguments, parsed.
    :param ConfigParser config: zuul.conf
    """

    app_name = 'launcher'
    log = logging.getLogger('zuul.nodes.launcher')

    def __init__(self, args, config):
        super().__init__()
        self.args = args
        self.config = config
        self.commands = {command.name: command for command in COMMANDS}
        self.stop_event = threading.Event()
        self.repl = None

    def parseArguments(self, args=None):
        """They are parsed already, by the ``zuul-nodes`` command."""

    def readConfig(self):
        """It is read already, to be checked before a daemon forks."""

    def run(self):
        self.handleCommands()
        # As a daemon, too: the launcher is stopped in order.
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *args: self.stop_event.set())
        self.setup_logging('launcher', 'log_config')
        trace_export = tracing.Tracing(self.config)
        self.configure_connections(providers=True)
        self.launcher = Launcher(self.config, self.connections)
        monitoring_server = monitoring.MonitoringServer(
            self.config, 'launcher', self.launcher.component_info)
        monitoring_server.start()
        command_socket = commandsocket.CommandSocket(
            self.launcher.settings.command_socket)
        command_socket.start()
        threading.Thread(target=self.runCommands, args=(command_socket,),
                         name='command', daemon=True).start()
        self.launcher.start()

        self.stop_event.wait()
        self.log.info("Stopping")
        self.stopRepl()
        self.launcher.stop()
        self.launcher.join()
        command_socket.stop()
        monitoring_server.stop()
        monitoring_server.join()
        trace_export.stop()

    def startRepl(self):
        """Let people look into the launcher."""
        if not self.repl:
            self.repl = repl.REPLServer(self.launcher)
            self.repl.start()

    def stopRepl(self):
        if self.repl:
            self.repl.stop()
            self.repl = None

    def runCommands(self, command_socket):
        """Do what is asked for by the command socket, until stopped."""
        handlers = {
            commandsocket.StopCommand.name: self.stop_event.set,
            commandsocket.ReplCommand.name: self.startRepl,
            commandsocket.NoReplCommand.name: self.stopRepl,
        }
        while not self.stop_event.is_set():
            command, args = command_socket.get()
            try:
                if command in handlers:
                    handlers[command](*args)
            except Exception:
                self.log.exception("Unable to %s:", command)
