"""The end of a session with ZooKeeper, also without ZooKeeper.

While the connection is lost, whoever asks ZooKeeper for something waits
until it is back, and Zuul's client does not let itself be disconnected.
Kazoo would go on trying, and Python wait for kazoo at its exit.
"""

import threading


class Disconnect:
    """
    :param ZooKeeperClient zk_client: connected.
    """

    def __init__(self, zk_client):
        self.zk_client = zk_client
        self._client = zk_client.client
        self._over = threading.Event()
        self._thread = None

    def begin(self, patience):
        """From now on, nobody waits for ever for a lost connection.

        :param float patience: seconds between two looks at it; if it is
            lost then, whoever waits is told so.
        """
        self._thread = threading.Thread(
            target=self._watch, args=(patience,), name='LauncherParting',
            daemon=True)
        self._thread.start()

    def end(self):
        """Close the session, or what is left of it."""
        self._over.set()
        if self._thread:
            self._thread.join()
        self.zk_client.disconnect()
        self._close()

    def _watch(self, patience):
        while not self._over.wait(patience):
            if not self.zk_client.connected:
                self._close()
                return

    def _close(self):
        self._client.stop()
        self._client.close()
