"""The provider of OpenStack nodes: what is configured in git."""

import voluptuous as vs
from zuul.driver.openstack import openstackprovider
from zuul.lib.voluputil import Optional

from zuul_nodes.drivers import extension

WEB_DOWNLOAD = 'web-download'


class OpenstackImage(extension.extendImageClass(
        openstackprovider.OpenstackProviderImage, zuul={Optional(
            'import-method',
            config=False,
            doc="""\
            How the cloud gets images: ``web-download`` if it may download
            them from where they are stored, if it can; ``none`` if the
            launcher has to download and upload them.""",
            default='none',
        ): vs.Any(WEB_DOWNLOAD, 'none',
                  msg=f'expected "{WEB_DOWNLOAD}" or "none"')})):
    """An image, of the cloud or of Zuul."""


OpenstackProviderSchema = extension.makeSchemaClass(
    openstackprovider.OpenstackProviderSchema, OpenstackImage,
    openstackprovider.OpenstackProviderFlavor,
    openstackprovider.OpenstackProviderLabel)
extension.yieldRecords(openstackprovider.OpenstackProvider)


class OpenstackProvider(openstackprovider.OpenstackProvider,
                        subclass_id='openstack'):
    schema = OpenstackProviderSchema().getProviderSchema()
    internal_schema = OpenstackProviderSchema().getProviderSchema(
        internal=True)

    def parseImage(self, image_config, provider_config, connection):
        # The provider has no endpoint yet.
        endpoint = connection.driver._getEndpoint(
            self.zk_client, connection, provider_config.get('region'),
            self.system_id)
        return OpenstackImage(
            image_config, provider_config,
            image_format=endpoint.getImageFormat())

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return self.endpoint.getImageImportJob(
            url, provider_image, image_name, image_format, metadata, md5,
            sha256)
