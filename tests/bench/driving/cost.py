"""What nodes cost in calls to their cloud."""

import configparser
import contextlib
import time

from zuul.provider import BaseProvider
from zuul.zk.components import COMPONENT_REGISTRY

from tests.fixtures import executor
from tests.fixtures.launcher import Steps
from zuul_nodes.launcher import Launcher
from zuul_nodes.launcher.changes import LAYOUT
from zuul_nodes.testing.layout import makeConnections

# Seconds.
TIMEOUT = 600


class BenchLauncher(Steps):
    """
    :param driver_class: of its only driver besides Zuul's.
    """

    def __init__(self, config, driver_class):
        Launcher.__init__(
            self, config, makeConnections(config, driver_class))
        # The class that was imported last has the records otherwise, be it
        # Zuul's or ours.
        BaseProvider._subclasses[driver_class.name.encode()] = (
            driver_class().getProviderClass())
        self.host_key_scanner.start()
        self.image_schedule.checkSoon()
        self.queue.add(LAYOUT)
        self.component_info.state = self.component_info.RUNNING


@contextlib.contextmanager
def startLauncher(server, directory, cloud, driver_class, number):
    """:return: a launcher that knows the cloud's provider."""
    server.makeRoot(f'drivers-{number}')
    certificates = server.certificates
    config = configparser.ConfigParser(interpolation=None)
    config.read_dict({
        'zookeeper': {'hosts': f'{server.hosts}/drivers-{number}',
                      'tls_ca': str(certificates.ca),
                      'tls_cert': str(certificates.client_cert),
                      'tls_key': str(certificates.client_key)},
        'launcher': {'temp_dir': str(directory)},
        'connection cloud': {'driver': driver_class.name} | {
            key: str(value) for key, value in cloud.connection.items()}})
    launcher = BenchLauncher(config, driver_class)
    try:
        launcher.setLayout(cloud.configuration)
        yield launcher
    finally:
        launcher.stop()
        launcher.join()
        COMPONENT_REGISTRY.clearRegistry()


def measure(launcher, count, number):
    """Have so many nodes made and removed.

    :param count: gives for the launcher how often its cloud was called.

    :return: seconds, and calls to the cloud.
    """
    launcher.runUntil(lambda: not launcher.pools.length())
    begin, before = time.monotonic(), count(launcher)
    requests = [launcher.addRequest('label') for _ in range(number)]
    launcher.runUntil(lambda: all(
        request.state in request.FINAL_STATES for request in requests),
        TIMEOUT)
    failed = [request for request in requests
              if request.state == request.State.FAILED]
    if failed:
        raise RuntimeError(f'{len(failed)} of {number} requests failed')
    for request in requests:
        node, = map(launcher.api.getProviderNode, request.nodes)
        with launcher.context() as context:
            executor.use(context, [node])
            request.delete(context)
    launcher.runUntil(lambda: not launcher.nodes(), TIMEOUT)
    return time.monotonic() - begin, count(launcher) - before
