"""The provider of OpenStack nodes: what is configured in git."""

import voluptuous as vs
from zuul.driver.openstack import openstackprovider
from zuul.lib.voluputil import Optional, assemble, discriminate
from zuul.provider import BaseProvider

WEB_DOWNLOAD = 'web-download'

_zuul_schema = vs.Schema({Optional(
    'import-method',
    config=False,
    doc="""\
    How the cloud gets images: ``web-download`` if it may download them
    from where they are stored, if it can; ``none`` if the launcher has to
    download and upload them.""",
    default='none',
): vs.Any(WEB_DOWNLOAD, 'none',
          msg=f'expected "{WEB_DOWNLOAD}" or "none"')})


class OpenstackImage(openstackprovider.OpenstackProviderImage):
    _zuuls = openstackprovider.OpenstackProviderImage
    zuul_schema = assemble(_zuuls.zuul_schema, _zuul_schema)
    internal_zuul_schema = assemble(
        _zuuls.internal_zuul_schema, _zuul_schema, extra=vs.ALLOW_EXTRA)
    inheritable_zuul_schema = assemble(
        _zuuls.inheritable_zuul_schema, _zuul_schema)
    schema = vs.Union(
        _zuuls.cloud_schema, zuul_schema, discriminant=discriminate(
            lambda value, alt: value['type'] == alt['type'].validators[0]))
    internal_schema = vs.Union(
        _zuuls.internal_cloud_schema, internal_zuul_schema,
        discriminant=discriminate(
            lambda value, alt: value['type'] == alt['type'].validators[0]))
    inheritable_schema = assemble(
        _zuuls.inheritable_cloud_schema, inheritable_zuul_schema)


class OpenstackProviderSchema(openstackprovider.OpenstackProviderSchema):

    def getImageSchema(self, internal=False):
        """
        :param bool internal: the schema for what is in ZooKeeper, as
            opposed to what people write.
        """
        return (OpenstackImage.internal_schema if internal
                else OpenstackImage.schema)

    def getInheritableImageSchema(self):
        return OpenstackImage.inheritable_schema

    def getInheritableZuulImageSchema(self):
        return OpenstackImage.inheritable_zuul_schema

    def getZuulImageSchema(self):
        return OpenstackImage.zuul_schema


# Providers in ZooKeeper say what class they are of by an id.  Zuul makes
# them of the class that has the id in this process: this one now, so that
# records of either are read by ours.  Zuul's own class goes on working.
BaseProvider._subclasses.pop(
    openstackprovider.OpenstackProvider._subclass_id, None)


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
