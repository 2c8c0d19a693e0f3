"""The launcher as a separate process.

Use it to run the launcher apart from the scheduler.  The component that does
the work is the same.  This module adds what the scheduler's process already
has: a command socket, the monitoring server and the export of traces.  They
are configured as for Zuul's own launcher, in ``[launcher]`` and ``[tracing]``.
"""

import logging
import signal
import threading

import zuul.cmd
from zuul.launcher.server import COMMANDS
from zuul.lib import commandsocket, monitoring, repl, tracing

from zuul_nodes.launcher.launcher import Launcher


class LauncherApp(zuul.cmd.ZuulDaemonApp):
    """The application that runs a launcher until a signal or command.

    :param Namespace args: the parsed arguments.
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
        """Do nothing: the ``zuul-nodes`` command has parsed the arguments."""

    def readConfig(self):
        """Do nothing: the command has read and checked zuul.conf."""

    def run(self):
        self.handleCommands()
        # In the background, too, a signal stops the launcher in order.
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *args: self.stop_event.set())
        self.setup_logging('launcher', 'log_config')
        trace_export = tracing.Tracing(self.config)
        self.configure_connections(providers=True)
        self.launcher = Launcher(
            self.config, self.connections, is_embedded=False)
        monitoring_server = monitoring.MonitoringServer(
            self.config, 'launcher', self.launcher.readiness)
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
        """Start a server for an interactive Python shell."""
        if not self.repl:
            self.repl = repl.REPLServer(self.launcher)
            self.repl.start()

    def stopRepl(self):
        if self.repl:
            self.repl.stop()
            self.repl = None

    def runCommands(self, command_socket):
        """Execute commands from the command socket until stopped."""
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
