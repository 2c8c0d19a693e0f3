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
# The uuid of an upload, and the name of the image that it makes.
UPLOAD = 'fedcba9876543210fedcba9876543210'
NAME = f'debian-{UPLOAD}'


def getProvider(zk_client, connection, text=LAYOUT):
    """:return: the provider of a configuration, as a tenant writes it."""
    layout = makeLayout(text)
    provider_config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        zk_client, connection, 'tenant', provider_config.canonical_name,
        provider_config.flattenConfig(layout, {'cloud': connection}),
        'system')


def getConnection(cloud='emulator'):
    return OpenstackDriver().getConnection('cloud', {
        'cloud': cloud, 'rate': '1000'})


def getTags(site):
    """:return: the tags of the upload at a :class:`Site`."""
    return site.provider.getUploadTags('system', site.image, UPLOAD)


class Site:
    """What a launcher has of the driver.

    :param str cloud: its name in clouds.yaml.
    :param str text: the configuration.
    :param attributes: of the image "debian".
    """

    def __init__(self, zk_client, cloud='emulator', text=LAYOUT,
                 **attributes):
        self.connection = getConnection(cloud)
        self.provider = getProvider(zk_client, self.connection, text)
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.image = self.provider.images['debian']
        vars(self.image).update(attributes)

    def list(self, kind):
        """:return: a list of resources of a kind that are Zuul's."""
        return [resource for resource
                in self.endpoint.listResources([self.provider])
                if resource.type == kind
                and resource.metadata.get('zuul_system_id') == 'system']

    def end(self):
        self.connection.driver.stop()
