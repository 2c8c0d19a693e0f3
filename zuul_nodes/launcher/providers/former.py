"""Keeps one provider of each endpoint in ZooKeeper.

A node must be deleted even if no layout has a provider at its endpoint any
more, by a launcher that may never have seen that layout.  So this module keeps
a provider for every endpoint that ever had one, without the parts that only
launches need.
"""

import json
import urllib.parse

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from zuul.launcher.server import ProviderNodeError

from zuul_nodes.launcher.providers.scope import isGiven

ROOT = '/zuul/zuul-nodes/places'
# Parts that a provider does not need for deletions.
NOTHING = {'images': [], 'flavors': [], 'labels': []}


class FormerProviders:
    """Writes and finds one provider of each endpoint in ZooKeeper.

    :param ZooKeeperClient zk_client:
    :param ConnectionRegistry connections: the launcher's own.
    :param str system_id: Zuul's.
    """

    def __init__(self, zk_client, connections, system_id):
        self.zk_client = zk_client
        self.connections = connections
        self.system_id = system_id
        self._written = {}
        self._former = {}

    def keep(self, scope):
        """Write a provider of each endpoint that has one, unless it is written
        already."""
        for place, provider in scope.getPlaces().items():
            # Static nodes have no instances to delete.
            if None in place or isGiven(provider.driver):
                continue
            data = json.dumps({
                'tenant': provider.tenant_name,
                'provider': provider.canonical_name,
                'config': {**provider.config, **NOTHING}}, sort_keys=True)
            if self._written.get(place) != data:
                self._write(_getPath(place), data.encode())
                self._written[place] = data

    def _write(self, path, data):
        try:
            self.zk_client.client.create(path, data, makepath=True)
        except NodeExistsError:
            self.zk_client.client.set(path, data)

    def find(self, place):
        """
        :param tuple place: names of a connection and an endpoint.
        :return: a provider that was at the endpoint; None if there was none.
        :raises ProviderNodeError: the provider cannot be used.
        """
        if place not in self._former:
            try:
                provider = self._read(place)
                # Callers need the endpoint, and expect no error from it.
                provider.getEndpoint()
            except NoNodeError:
                return None
            except KazooException:
                raise
            except Exception as error:
                # Its connection or its driver may be gone, too.
                raise ProviderNodeError(
                    f'endpoint {place[1]} of connection {place[0]} cannot '
                    f'be used: {error!r}') from error
            self._former[place] = provider
        return self._former[place]

    def _read(self, place):
        data, _ = self.zk_client.client.get(_getPath(place))
        content = json.loads(data)
        connection = self.connections.connections[place[0]]
        return connection.driver.getProvider(
            self.zk_client, connection, content['tenant'],
            content['provider'], content['config'], self.system_id)


def _getPath(place):
    return '/'.join([ROOT, *map(urllib.parse.quote_plus, place)])
