"""The ZooKeeper server of a pytest session."""

import pytest

from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.zookeeper import ZooKeeper

_ZOOKEEPER = pytest.StashKey[ZooKeeper]()


def getZooKeeper(config: pytest.Config,
                 tmp_path_factory: pytest.TempPathFactory) -> ZooKeeper:
    """Start the server, unless it is running.

    :param config: pytest's, which stops the server in the end.
    :return: the :class:`ZooKeeper` of the session.
    """
    if _ZOOKEEPER not in config.stash:
        directory = tmp_path_factory.mktemp('zookeeper')
        server = ZooKeeper(
            directory, Certificates(directory / 'certificates'),
            ports.freePort(), is_durable=False)
        config.add_cleanup(server.stop)
        server.start()
        config.stash[_ZOOKEEPER] = server
    return config.stash[_ZOOKEEPER]
