"""Where nodes may be: one provider of each endpoint, in ZooKeeper.

A node has to be deleted also when no layout has a provider at its
endpoint any more, by a launcher that may never have seen that layout.  So
a provider is kept for each endpoint that there ever was, without what is
needed to make nodes only.
"""

import json
import urllib.parse

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from zuul.launcher.server import ProviderNodeError

from zuul_nodes.launcher.providers.scope import isGiven

ROOT = '/zuul/zuul-nodes/places'
# What a provider of no nodes can do without.
NOTHING = {'images': [], 'flavors': [], 'labels': []}


class FormerProviders:
    """
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
        """Write where there are providers now, unless we have already."""
        for place, provider in scope.getPlaces().items():
            # There is nothing to be deleted of a static node.
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
        :param tuple place: the names of a connection and an endpoint.
        :return: a provider that was there, or None if there was none.
        :raises ProviderNodeError: it can't be used.
        """
        if place not in self._former:
            try:
                provider = self._read(place)
                # Whoever uses it needs that, and is not to fail.
                provider.getEndpoint()
            except NoNodeError:
                return None
            except KazooException:
                raise
            except Exception as error:
                # Its connection or its driver may be gone, too.
                raise ProviderNodeError(
                    f'endpoint {place[1]} of connection {place[0]} can not '
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
