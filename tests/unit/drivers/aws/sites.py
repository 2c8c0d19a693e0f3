"""A region of the emulated AWS, as the launcher has it."""

import itertools
import logging
import pathlib

from zuul.driver.aws.awsmodel import AwsProviderNode

from tests.emulators.aws import CREDENTIALS, REGION, UPLOADS
from tests.fixtures.layout import makeLayout
from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers import forNode, getZones, turnZones
from zuul_nodes.drivers.aws import AwsDriver

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'
EXAMPLE = (EXAMPLES / 'aws.yaml').read_text()
FLEET = 'fleet: {instance-types: [%s], allocation-strategy: %s}'
LAYOUT = f'''
- image: {{name: base, type: cloud}}
- image: {{name: built, type: zuul}}
- flavor: {{name: small}}
- label: {{name: small, image: base, flavor: small}}
- section:
    name: cloud
    connection: aws
    region: {REGION}
    object-storage: {{bucket-name: {UPLOADS}}}
    images:
      - name: base
        image-id: IMAGE
      - name: built
    flavors:
      - name: small
        instance-type: t3.medium
        FLAVOR
- provider:
    name: cloud
    section: cloud
    labels:
      - name: small
        key-name: zuul
        LABEL
'''
_numbers = itertools.count(1)


def makeConnection(**options):
    return AwsDriver().getConnection('aws', {
        'driver': 'aws', 'rate': '1000', **CREDENTIALS, **options})


def getProvider(zk_client, connection, text):
    """:return: the provider of a configuration, as a tenant writes it."""
    layout = makeLayout(text)
    config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        zk_client, connection, 'tenant', config.canonical_name,
        config.flattenConfig(layout, {'aws': connection}), 'system')


class Site:
    """
    :param Aws aws: the emulator.
    :param str flavor, label, image: attributes, YAML; of the image its id.
    :param options: of the connection.
    """

    def __init__(self, aws, zk_client, flavor='', label='', image=None,
                 text=LAYOUT, **options):
        self.aws = aws
        self.image_id = image or aws.getImage('base')
        self.connection = makeConnection(endpoint_url=aws.url, **options)
        for word, value in (('IMAGE', self.image_id), ('FLAVOR', flavor),
                            ('LABEL', label)):
            text = text.replace(word, value)
        self.provider = getProvider(zk_client, self.connection, text)
        self.endpoint = self.provider.endpoint
        self.endpoint.start()

    def end(self):
        self.connection.driver.stop()

    def refreshQuota(self):
        label, = self.provider.labels.values()
        self.endpoint.refreshQuotaLimits(True)
        self.provider.refreshQuotaForLabel(label, True)
        waitFor(self._isKnown)

    def _isKnown(self):
        try:
            label, = self.provider.labels.values()
            return self.provider.getQuotaForLabel(label)
        except KeyError:
            return None

    def makeNode(self, uuid=None, **attributes):
        """:return: a node that is to be made; in no record."""
        uuid = uuid or f'{next(_numbers):08d}-0000-4000-8000-000000000000'
        node = AwsProviderNode()
        node._set(**{
            'uuid': uuid, 'label': 'small', 'request_time': 1.0,
            'create_state': {}, 'delete_state': {}, 'node_properties': {},
            'tags': {'zuul_node_uuid': uuid, 'zuul_system_id': 'system'},
            # Steps may write to it.
            '_active_context': True} | attributes)
        return node

    def getCreation(self, node, key='request'):
        """:return: what makes a node; of the view that launchers have."""
        if not self.endpoint.quota_cache.hasLimits():
            self.refreshQuota()
        zones = turnZones(getZones(self.provider.labels[node.label]), key)
        return forNode(
            self.provider, node.label, zones[0] if zones else ''
            ).getCreateStateMachine(node, None, logging.getLogger('test'))

    def getDeletion(self, node):
        return self.provider.getDeleteStateMachine(
            node, logging.getLogger('test'))

    def run(self, machine):
        """Take steps until it is complete."""
        def step():
            machine.advance()
            return machine.complete
        waitFor(step)

    def create(self, node=None, **kwargs):
        """:return: the node, with its instance."""
        node = node or self.makeNode()
        machine = self.getCreation(node, **kwargs)
        self.run(machine)
        node._set(create_state=machine.toDict())
        return node

    def delete(self, node):
        self.run(self.getDeletion(node))

    def getInstances(self):
        """:return: a list of the instances there are."""
        return self.aws.listInstances()
