"""The web server for the logs of builds.

The web UI's page loads the logs from another port than its own, so the
responses must allow this (CORS).
"""

import functools
import http.server
import threading

from zuul_nodes.quickstart.ports import LOOPBACK


class _Handler(http.server.SimpleHTTPRequestHandler):

    def end_headers(self):
        self.send_header('Access-Control-Allow-Origin', '*')
        super().end_headers()

    def log_message(self, *args):
        """Log no requests: the terminal shows the quickstart's progress."""


class LogServer:
    """Serves a directory over HTTP on loopback, in a thread.

    :param directory: the directory to serve.
    :ivar str url: the address, without a slash at the end.
    """

    def __init__(self, directory):
        self._server = http.server.ThreadingHTTPServer(
            (LOOPBACK, 0),
            functools.partial(_Handler, directory=str(directory)))
        self.url = f'http://{LOOPBACK}:{self._server.server_port}'
        self._thread = threading.Thread(
            target=self._server.serve_forever, name='log-server', daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
