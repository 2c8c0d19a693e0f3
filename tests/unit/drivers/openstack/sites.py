"""A provider at the emulated cloud."""

from tests.fixtures.layout import makeLayout
from zuul_nodes.drivers.openstack import OpenstackDriver

LAYOUT = '''
- image: {name: debian, type: zuul}
- image: {name: stock, type: cloud}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section:
    name: cloud
    connection: cloud
    images:
      - name: debian
        import-method: web-download
      - name: stock
        image-id: base
    flavors: [{name: small, flavor-name: m1.small}]
- provider:
    name: cloud
    section: cloud
    labels: [debian]
'''


def getProvider(zk_client, connection, text=LAYOUT):
    """:return: the provider of a configuration, as a tenant writes it."""
    layout = makeLayout(text)
    provider_config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        zk_client, connection, 'tenant', provider_config.canonical_name,
        provider_config.flattenConfig(layout, {'cloud': connection}),
        'system')


def getConnection():
    return OpenstackDriver().getConnection('cloud', {
        'cloud': 'emulator', 'rate': '1000'})


class Site:
    """What a launcher has of the driver.

    :param attributes: of the image "debian".
    """

    def __init__(self, zk_client, **attributes):
        self.connection = getConnection()
        self.provider = getProvider(zk_client, self.connection)
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.image = self.provider.images['debian']
        vars(self.image).update(attributes)

    def end(self):
        self.connection.driver.stop()
