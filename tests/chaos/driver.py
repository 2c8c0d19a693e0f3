"""The driver of the cloud, written as for any cloud."""

import http.client
import json

import voluptuous as vs

from tests.chaos import clock, cloud
from zuul_nodes.drivers import (
    Ability,
    Adapter,
    CapacityError,
    Driver,
    Instance,
    Optional,
    QuotaError,
    State,
    TemporaryError,
)
from zuul_nodes.quickstart.ports import LOOPBACK

clock.install()
ERRORS = {cloud.QUOTA: QuotaError, cloud.CAPACITY: CapacityError}


def call(port, region, method, timeout=cloud.CALL_TIMEOUT, **arguments):
    """Call the cloud.

    :raises DriverError: the cloud refuses.
    :raises OSError, HTTPException: it does not answer.
    """
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout)
    try:
        connection.request('POST', f'/{region}/{method}',
                           json.dumps(arguments))
        response = connection.getresponse()
        data = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise ERRORS.get(response.status, TemporaryError)(
            f'the cloud answers with status {response.status}')
    return json.loads(data)


class ChaosAdapter(Adapter):
    abilities = frozenset({Ability.LIMITS, Ability.NEEDS})
    list_interval = 0.3

    def __init__(self, connection, **place):
        super().__init__(connection, **place)
        self.options = json.loads(connection.options)
        if self.options['unique']:
            self.abilities = self.abilities | {Ability.UNIQUE_NAMES}

    def call(self, method, **arguments):
        # Who calls does not concern the cloud, but its history.
        client = self.connection.driver.zk_client.client
        return call(
            int(self.connection.port), self.connection.connection_name,
            method, self.timeout, begun=clock.getRealTime(),
            session=(client._session_id or 0) & (1 << 64) - 1, **arguments)

    def createInstance(self, spec):
        answer = self.call(
            'create', name=spec.name, tags=spec.tags, label=spec.label.name,
            needs=self.getNeeds(spec))
        return Instance(answer['id'], State.BUILDING, spec.tags)

    def listInstances(self):
        for key, each in self.call('list').items():
            yield Instance(
                key, State.READY if each['is_ready'] else State.BUILDING,
                each['tags'], needs=each['needs'], address=LOOPBACK,
                connection_port=22)

    def deleteInstance(self, instance_id):
        self.call('delete', id=instance_id)

    def getLimits(self):
        return self.options['limits']

    def getNeeds(self, spec):
        return {'instances': 1, 'cores': spec.flavor.cores}


class ChaosDriver(Driver):
    """A cloud that fails on purpose."""

    name = 'chaos'
    adapter_class = ChaosAdapter
    connection_attributes = {
        Optional('port', default='0', doc='Where the cloud listens.'): str,
        Optional('options', default='{}', doc='Of the region, JSON.'): str,
    }
    flavor_attributes = {
        Optional('cores', default=1, doc='Number of cores.'): vs.Coerce(int),
    }
    zk_client = None

    def getEndpoint(self, provider):
        self.zk_client = provider.zk_client
        return super().getEndpoint(provider)
