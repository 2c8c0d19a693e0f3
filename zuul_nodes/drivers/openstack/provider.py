"""The provider of OpenStack nodes, made from the flat configuration."""

import math

import voluptuous as vs
from zuul.driver.openstack import openstackprovider
from zuul.model import QuotaInformation

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.openstack.checks import makeChecks
from zuul_nodes.drivers.openstack.cloud.quota import addLimits
from zuul_nodes.drivers.openstack.config import attributes
from zuul_nodes.drivers.openstack.config.imageattributes import ZUUL_IMAGE
from zuul_nodes.drivers.openstack.images.snapshots import SnapshotStateMachine
from zuul_nodes.drivers.openstack.servers.statemachine import (
    OpenstackCreateStateMachine,
    OpenstackDeleteStateMachine,
)


class OpenstackImage(extension.extendImageClass(
        openstackprovider.OpenstackProviderImage,
        cloud=attributes.CLOUD_IMAGE, zuul=ZUUL_IMAGE)):
    """An image of type ``cloud`` or ``zuul``."""


class OpenstackFlavor(extension.extendClass(
        openstackprovider.OpenstackProviderFlavor, attributes.FLAVOR)):
    """The size of a node."""


class OpenstackLabel(extension.extendClass(
        openstackprovider.OpenstackProviderLabel, attributes.LABEL)):
    """The attributes of a node."""


# Conditions that involve several attributes.
for _cls, _condition in ((OpenstackImage, attributes.needsImage),
                         (OpenstackImage, attributes.checkTags),
                         (OpenstackFlavor, attributes.needsFlavor)):
    for _name in ('schema', 'internal_schema'):
        setattr(_cls, _name, vs.All(getattr(_cls, _name), _condition))


class OpenstackProviderSchema(extension.makeSchemaClass(
        openstackprovider.OpenstackProviderSchema, OpenstackImage,
        OpenstackFlavor, OpenstackLabel, attributes.PROVIDER)):
    def getProviderSchema(self, internal=False):
        return addLimits(super().getProviderSchema(internal))


extension.yieldRecords(openstackprovider.OpenstackProvider)


class OpenstackProvider(extension.ProviderWithAdapter,
                        openstackprovider.OpenstackProvider,
                        subclass_id='openstack'):
    schema = OpenstackProviderSchema().getProviderSchema()
    internal_schema = OpenstackProviderSchema().getProviderSchema(
        internal=True)
    create_class = OpenstackCreateStateMachine
    delete_class = OpenstackDeleteStateMachine

    def getEndpointLimits(self):
        if getattr(self, 'ignore_provider_quota', False):
            return QuotaInformation(default=math.inf)
        return super().getEndpointLimits()

    def parseImage(self, image_config, provider_config, connection):
        image_format = image_config.get('image-format')
        # Without clouds.yaml, other images can be read.
        if not image_format and image_config['type'] == 'zuul':
            # The provider has no endpoint yet.
            image_format = connection.driver.getEndpointOf(
                self.zk_client, connection, provider_config.get('region'),
                self.system_id).getImageFormat()
        return OpenstackImage(
            image_config, provider_config, image_format=image_format)

    def parseFlavor(self, flavor_config, provider_config, connection):
        return OpenstackFlavor(flavor_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return OpenstackLabel(label_config, provider_config)

    def getChecks(self):
        """:return: yields a Check for each object that the configuration
            names."""
        return makeChecks(self)

    # Images

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return self.endpoint.images.makeImportJob(
            url, provider_image, image_name, image_format, metadata, md5,
            sha256)

    def downloadSnapshot(self, url, path):
        """
        :param str url: of an artifact that is a snapshot of a node.
        :param str path: of the file to write.
        :return: the path, or None if the snapshot is not in this cloud.
        """
        return self.endpoint.images.downloadSnapshot(url, path)

    def getSnapshotStateMachine(self, node, log):
        return SnapshotStateMachine(self.endpoint, node, log)
