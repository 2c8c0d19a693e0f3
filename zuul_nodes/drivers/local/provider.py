"""The provider of nodes on this machine: what is configured in git."""

import logging
import math

import voluptuous as vs
from zuul.lib.voluputil import (
    Constant,
    Optional,
    Required,
    assemble,
    discriminate,
)
from zuul.model import QuotaInformation
from zuul.provider import (
    BaseProvider,
    BaseProviderFlavor,
    BaseProviderImage,
    BaseProviderLabel,
    BaseProviderSchema,
)
from zuul.provider import (
    schema as provider_schema,
)

from zuul_nodes.drivers.local.statemachine import (
    LocalCreateStateMachine,
    LocalDeleteStateMachine,
    LocalSnapshotStateMachine,
)

USERNAME = 'zuul'


class LocalImage(BaseProviderImage):
    """The root file system of nodes."""

    cloud_schema = assemble(
        BaseProviderImage.cloud_schema,
        vs.Schema({Required(
            'image-path',
            doc="""\
            The path of an archive of a root file system, or of a
            directory with one, on the machine of the launcher.  The
            connection has to allow it with import_directories.""",
        ): str}))
    zuul_schema = assemble(
        BaseProviderImage.zuul_schema,
        vs.Schema({Optional(
            'image-format',
            doc="""The format of the image.""",
            default='tar',
        ): vs.Any(
            Constant('tar', doc="""\
            An archive of a root file system, compressed or not."""),
            Constant('snapshot', doc="""\
            The image is a snapshot of a node."""))}))
    internal_cloud_schema = assemble(
        cloud_schema, provider_schema.internal_base_image,
        extra=vs.ALLOW_EXTRA)
    internal_zuul_schema = assemble(
        zuul_schema, provider_schema.internal_base_image,
        extra=vs.ALLOW_EXTRA)
    schema = vs.Union(
        cloud_schema, zuul_schema, discriminant=discriminate(
            lambda value, alt: value['type'] == alt['type'].validators[0]))
    internal_schema = vs.Union(
        internal_cloud_schema, internal_zuul_schema,
        discriminant=discriminate(
            lambda value, alt: value['type'] == alt['type'].validators[0]))

    def __init__(self, image_config, provider_config):
        super().__init__(image_config, provider_config)
        self.format = getattr(self, 'image_format', None)
        self.username = self.username or USERNAME
        self.connection_type = 'ssh'


class LocalLabel(BaseProviderLabel):
    inheritable_schema = assemble(
        BaseProviderLabel.inheritable_schema,
        provider_schema.host_key_checking)
    schema = assemble(
        BaseProviderLabel.schema, provider_schema.host_key_checking)
    internal_schema = assemble(
        schema, provider_schema.internal_base_label, extra=vs.ALLOW_EXTRA)


class LocalProviderSchema(BaseProviderSchema):
    def getLabelSchema(self, internal=False):
        return LocalLabel.internal_schema if internal else LocalLabel.schema

    def getImageSchema(self, internal=False):
        return LocalImage.internal_schema if internal else LocalImage.schema

    def getInheritableLabelSchema(self):
        return LocalLabel.inheritable_schema

    def getZuulImageSchema(self):
        return LocalImage.zuul_schema

    def getProviderSchema(self, internal=False):
        """
        :param bool internal: the schema for what is in ZooKeeper, as
            opposed to what people write.
        """
        return assemble(
            super().getProviderSchema(internal),
            vs.Schema({Optional(
                'resource-limits',
                doc="""\
                How much of the machine this provider uses at most.""",
                default={},
            ): {Optional(
                'instances', default=vs.UNDEFINED,
                doc="""The number of nodes."""): int}}),
            doc="""\
            The attributes available for nodes on the launcher's own
            machine are below.""")


class LocalProvider(BaseProvider, subclass_id='local'):
    log = logging.getLogger('zuul.LocalProvider')
    schema = LocalProviderSchema().getProviderSchema()
    internal_schema = LocalProviderSchema().getProviderSchema(internal=True)

    def parseImage(self, image_config, provider_config, connection):
        return LocalImage(image_config, provider_config)

    def parseFlavor(self, flavor_config, provider_config, connection):
        return BaseProviderFlavor(flavor_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return LocalLabel(label_config, provider_config)

    @property
    def endpoint(self):
        return self.getEndpoint()

    def getEndpoint(self):
        return self.driver.getEndpoint(self)

    def getCreateStateMachine(self, node, image_external_id, log):
        image = self.images[self.labels[node.label].image]
        return LocalCreateStateMachine(
            self.endpoint, node, image, image_external_id, log)

    def getDeleteStateMachine(self, node, log):
        return LocalDeleteStateMachine(self.endpoint, node, log)

    def getSnapshotStateMachine(self, node, log):
        return LocalSnapshotStateMachine(self.endpoint, node, log)

    def getEndpointLimits(self):
        limit = self.connection.max_instances
        return QuotaInformation(
            default=math.inf,
            **({} if limit is None else {'instances': limit}))

    def refreshQuotaForLabel(self, label, update):
        """All labels need the same: one instance."""

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return self.endpoint.getImportJob(
            url, provider_image, metadata, sha256)

    def getImageUploadJob(self, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        # The launcher has compared the checksum of what it has downloaded.
        return self.endpoint.getUploadJob(provider_image, metadata)

    def deleteImage(self, external_id):
        self.endpoint.deleteImage(external_id)
