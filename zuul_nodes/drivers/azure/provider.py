"""The provider of Azure nodes, made from the flat configuration."""

import voluptuous as vs
from zuul.driver.azure import azureprovider

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.azure import attributes
from zuul_nodes.drivers.azure.statemachine import (
    AzureCreateStateMachine,
    AzureDeleteStateMachine,
)


class AzureImage(extension.extendImageClass(
        azureprovider.AzureProviderImage, cloud=attributes.IMAGE,
        zuul=attributes.IMAGE)):
    """An image of type ``cloud`` or ``zuul``."""


class AzureFlavor(extension.extendClass(
        azureprovider.AzureProviderFlavor, attributes.FLAVOR)):
    """The size of a node."""


class AzureLabel(extension.extendClass(
        azureprovider.AzureProviderLabel, attributes.LABEL)):
    """The attributes of a node."""


# Conditions that involve several attributes.
for _cls, _condition in ((AzureImage, attributes.checkImage),
                         (AzureLabel, attributes.checkLabel)):
    for _name in ('schema', 'internal_schema'):
        setattr(_cls, _name, vs.All(getattr(_cls, _name), _condition))

AzureProviderSchema = extension.makeSchemaClass(
    azureprovider.AzureProviderSchema, AzureImage, AzureFlavor, AzureLabel,
    attributes=attributes.PROVIDER)
extension.yieldRecords(azureprovider.AzureProvider)


class AzureProvider(extension.ProviderWithAdapter,
                    azureprovider.AzureProvider, subclass_id='azure'):
    schema = AzureProviderSchema().getProviderSchema()
    internal_schema = AzureProviderSchema().getProviderSchema(internal=True)
    create_class = AzureCreateStateMachine
    delete_class = AzureDeleteStateMachine

    def parseImage(self, image_config, provider_config, connection):
        return AzureImage(image_config, provider_config)

    def parseFlavor(self, flavor_config, provider_config, connection):
        return AzureFlavor(flavor_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return AzureLabel(label_config, provider_config)
