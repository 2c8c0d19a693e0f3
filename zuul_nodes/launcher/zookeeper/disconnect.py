"""Ends the session with ZooKeeper, even while the connection is lost.

While the connection is lost, callers of ZooKeeper wait until it is back, and
Zuul's client does not disconnect.  Kazoo would continue to reconnect, and
Python would wait for kazoo at exit.
"""

import threading


class Disconnect:
    """Ends the session with ZooKeeper, even while the connection is lost.

    :param ZooKeeperClient zk_client: connected.
    """

    def __init__(self, zk_client):
        self.zk_client = zk_client
        self._client = zk_client.client
        self._ended = threading.Event()
        self._thread = None

    def begin(self, interval):
        """Limit the waits of callers from now on.

        :param float interval: seconds between two checks; if the connection is
            lost at a check, the waiting callers get an error.
        """
        self._thread = threading.Thread(
            target=self._watch, args=(interval,), name='LauncherDisconnect',
            daemon=True)
        self._thread.start()

    def end(self):
        """Close the session, or the client if the session is lost."""
        self._ended.set()
        if self._thread:
            self._thread.join()
        self.zk_client.disconnect()
        self._close()

    def _watch(self, interval):
        while not self._ended.wait(interval):
            if not self.zk_client.connected:
                self._close()
                return

    def _close(self):
        self._client.stop()
        self._client.close()
