"""What providers get in place of ZooKeeper, where nothing is launched."""

import types

from kazoo.client import KazooState
from kazoo.exceptions import NoNodeError


class NoZooKeeper:
    """Replaces the client of ZooKeeper: reads nothing and writes nothing.

    Endpoints read cached quotas from ZooKeeper; checks query the cloud
    instead.
    """

    _state = KazooState.CONNECTED

    def add_listener(self, listener):
        pass

    def add_watch(self, path, watch, mode):
        pass

    def ensure_path(self, path):
        pass

    def get_children(self, path):
        raise NoNodeError


NO_ZOOKEEPER = types.SimpleNamespace(client=NoZooKeeper())
