"""The provider of AWS nodes, made from the flat configuration."""

import copy

import voluptuous as vs
from zuul.driver.aws import awsprovider
from zuul.lib.voluputil import AsList, Constant, Nullable, Optional

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.aws import places, values
from zuul_nodes.drivers.aws.checks import makeChecks
from zuul_nodes.drivers.aws.statemachine import (
    CreateStateMachine,
    DeleteStateMachine,
)

IMPORT_TIMEOUT = 4 * 3600
VOLUME = values.bound(
    awsprovider.AwsProviderImage.inheritable_aws_image_schema)


class AwsImage(extension.extendImageClass(
        awsprovider.AwsProviderImage, cloud={**VOLUME, Optional(
            'image-owners',
            doc="""\
            The allowed owners of the image: ids of accounts, ``self``,
            ``amazon`` or ``aws-marketplace``.  By default any owner if there
            are ``image-filters``, and the account itself or Amazon if
            ``image-id`` is a name, which may contain ``*`` and ``?``.  If
            several images match, the newest is used.""",
            default=[],
        ): AsList(str)}, zuul={**VOLUME, Optional(
            'import-timeout',
            config=False,
            doc="""\
            Seconds that AWS has to create an image.  This may take long, so
            the default is four hours.""",
            default=IMPORT_TIMEOUT,
        ): values.makeWhole(1)})):
    """An image of type ``cloud`` or ``zuul``."""


class AwsFlavor(extension.extendClass(awsprovider.AwsProviderFlavor, {
        **VOLUME,
        Optional(
            'spot-fallback',
            doc="""\
            The fallback if no spot instance is available.  By default, nodes
            wait for a spot instance.""",
        ): Nullable(vs.Any(Constant(
            places.ON_DEMAND, doc='An on-demand instance.')))})):
    """The size of a node."""


class AwsLabel(extension.extendClass(awsprovider.AwsProviderLabel, {
        **VOLUME,
        Optional(
            'console-log',
            doc="""\
            Whether to write the console output of a node to the launcher's
            log if the node does not boot.""",
            default=False,
        ): bool})):
    """The attributes of a node."""


AwsProviderSchema = extension.makeSchemaClass(
    awsprovider.AwsProviderSchema, AwsImage, AwsFlavor, AwsLabel)
extension.yieldRecords(awsprovider.AwsProvider)


class AwsProvider(awsprovider.AwsProvider, subclass_id='aws'):
    schema = AwsProviderSchema().getProviderSchema()
    internal_schema = AwsProviderSchema().getProviderSchema(internal=True)

    def parseImage(self, image_config, provider_config, connection):
        return AwsImage(image_config, provider_config)

    def parseFlavor(self, flavor_config, provider_config, connection):
        return AwsFlavor(flavor_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return AwsLabel(label_config, provider_config)

    def validateConfig(self, config):
        # Zuul validates one zone; a node gets one of several later.
        labels = {}
        for name, label in config['labels'].items():
            labels[name] = copy.copy(label)
            labels[name].az = next(iter(places.orderZones(label)), None)
        super().validateConfig({**config, 'labels': labels})

    def getCreateStateMachine(self, node, image_external_id, log):
        label = self.labels[node.label]
        return CreateStateMachine(
            self, self.endpoint, node, f'np{node.uuid[:13]}', label,
            self.flavors[label.flavor], self.images[label.image],
            image_external_id, node.tags, log)

    def getDeleteStateMachine(self, node, log):
        return DeleteStateMachine(self.endpoint, node, log)

    def getConsoleLog(self, label, node):
        """
        :return: the console output of the node, a string; None if it has no
            instance.
        """
        return node.aws_instance_id and self.endpoint.getConsoleLog(
            node.aws_instance_id)

    def getChecks(self):
        """:return: yields a Check for each object that the configuration
            names."""
        return makeChecks(self)

    # Quota

    def getEndpointLimits(self):
        # Include the limits of the fallback market.
        view = extension.makeView(self, flavors=self.flavors | {
            (name, places.ON_DEMAND): places.toOnDemand(flavor)
            for name, flavor in self.flavors.items()
            if places.mayLeaveSpot(flavor)})
        return super(AwsProvider, view).getEndpointLimits()

    def refreshQuotaForLabel(self, label, update):
        super().refreshQuotaForLabel(label, update)
        flavor = self.flavors[label.flavor]
        if places.mayLeaveSpot(flavor):
            self.endpoint.refreshQuotaForLabel(
                label, places.toOnDemand(flavor), update)
