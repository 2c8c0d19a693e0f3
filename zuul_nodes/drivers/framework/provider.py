"""The provider of a driver with an adapter: its configuration in git."""

from collections.abc import Iterator, Mapping, Sequence
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from zuul.connection import BaseConnection
from zuul.model import ProviderNode, QuotaInformation
from zuul.provider import (
    BaseProvider,
    BaseProviderFlavor,
    BaseProviderImage,
    BaseProviderLabel,
)

from zuul_nodes.drivers.api.check import Check
from zuul_nodes.drivers.api.errors import Log
from zuul_nodes.drivers.api.labels import getZones, turnZones
from zuul_nodes.drivers.api.model import Ability, ImageSpec, InstanceSpec
from zuul_nodes.drivers.framework.checks import makeChecks
from zuul_nodes.drivers.framework.images import ImageJob
from zuul_nodes.drivers.framework.needs import getKnownNeeds, refreshNeeds
from zuul_nodes.drivers.framework.statemachine import (
    CreateStateMachine,
    DeleteStateMachine,
    SnapshotStateMachine,
)

if TYPE_CHECKING:
    # The class that ProviderWithAdapter is combined with.
    from zuul.provider import BaseProvider as Provider

    from zuul_nodes.drivers.framework.driver import Driver
    from zuul_nodes.drivers.framework.endpoint import AdapterEndpoint
else:
    Provider = object

# The flat configuration of an object.
Config: TypeAlias = Mapping[str, Any]


class ProviderWithAdapter(Provider):
    """Base class of providers with an adapter, including those that extend a
    driver of Zuul.

    :cvar create_class, delete_class: the state machines of its nodes.
    """

    create_class: ClassVar[type[CreateStateMachine]] = CreateStateMachine
    delete_class: ClassVar[type[DeleteStateMachine]] = DeleteStateMachine

    def getCreateStateMachine(self, node: ProviderNode,
                              image_external_id: str | None,
                              log: Log) -> CreateStateMachine:
        return self.create_class(self, node, image_external_id, log)

    def getDeleteStateMachine(self, node: ProviderNode,
                              log: Log) -> DeleteStateMachine:
        return self.delete_class(self, node, log)

    def makeSpec(self, label: BaseProviderLabel, name: str = '',
                 tags: dict[str, str] | None = None,
                 **attributes: str | None) -> InstanceSpec:
        """:return: the specification of an instance for the adapter."""
        return InstanceSpec(
            name=name, tags=tags or {}, provider=self, label=label,
            image=self.images[label.image],
            flavor=self.flavors[label.flavor], **attributes)

    def getZones(self, node: ProviderNode) -> list[str | None]:
        """
        :return: the zones in which a node may be, the preferred one first;
            ``[None]`` if there are no zones.
        """
        label = self.labels[node.label]
        zones: list[str | None] = (
            [*getZones(label)] or [*self.endpoint.getZones()] or [None])
        # Other nodes of the request may be in a zone already.
        for zone in (getattr(label, 'az', None), node.az):
            if zone in zones:
                start = zones.index(zone)
                return zones[start:] + zones[:start]
        return turnZones(zones, node.request_time)

    def getConsoleLog(self, label: BaseProviderLabel,
                      node: ProviderNode) -> str | None:
        instance_id = node.create_state.get('instance_id')
        if instance_id is None or (
                Ability.CONSOLE not in self.endpoint.abilities):
            return None
        return self.endpoint.calls.call('getConsoleLog', instance_id)

    def getChecks(self) -> Iterator[Check]:
        """:return: yields one check for each object that the configuration
            names."""
        return makeChecks(self)


class AdapterProvider(ProviderWithAdapter):
    """Base class of the providers of drivers for new clouds.

    Each driver has a subclass of this and Zuul's ``BaseProvider``.
    """

    driver_class: ClassVar['type[Driver]']

    def parseImage(self, image_config: Config, provider_config: Config,
                   connection: BaseConnection) -> BaseProviderImage:
        return self.driver_class.image_class(image_config, provider_config)

    def parseFlavor(self, flavor_config: Config, provider_config: Config,
                    connection: BaseConnection) -> BaseProviderFlavor:
        return self.driver_class.flavor_class(flavor_config, provider_config)

    def parseLabel(self, label_config: Config, provider_config: Config,
                   connection: BaseConnection) -> BaseProviderLabel:
        return self.driver_class.label_class(label_config, provider_config)

    @property
    def endpoint(self) -> 'AdapterEndpoint':
        return self.getEndpoint()

    def getEndpoint(self) -> 'AdapterEndpoint':
        return self.driver.getEndpoint(self)

    def getSnapshotStateMachine(self, node: ProviderNode,
                                log: Log) -> SnapshotStateMachine | None:
        if Ability.SNAPSHOTS not in self.endpoint.abilities:
            return None
        return SnapshotStateMachine(self, node, log)

    # Zones

    def getAZs(self) -> Sequence[str | None]:
        return self.endpoint.getZones() or [None]

    # Quota

    def getEndpointLimits(self) -> QuotaInformation:
        if Ability.LIMITS in self.endpoint.abilities:
            return self.endpoint.quota_cache.getLimits()
        return QuotaInformation(default=math.inf)

    def getQuotaForLabel(self, label: BaseProviderLabel) -> QuotaInformation:
        """
        :raises KeyError: the launchers have not asked the cloud yet.
        """
        if Ability.NEEDS in self.endpoint.abilities:
            return getKnownNeeds(self.endpoint, self._getNeedsKey(label))
        return QuotaInformation(instances=1)

    def refreshQuotaForLabel(self, label: BaseProviderLabel,
                             update: bool) -> None:
        endpoint = self.endpoint
        if Ability.NEEDS in endpoint.abilities:
            refreshNeeds(
                endpoint, self._getNeedsKey(label), update, label,
                lambda: endpoint.calls.call('getNeeds', self.makeSpec(label)))

    def _getNeedsKey(self, label: BaseProviderLabel) -> str:
        """:return: a key, equal for labels whose nodes need the same."""
        driver_class = self.driver_class
        parts = [
            {key.output: getattr(part, key.output, None) for key in attributes}
            for part, attributes in (
                (label, driver_class.label_attributes),
                (self.flavors[label.flavor], driver_class.flavor_attributes),
                (self.images[label.image], {
                    **driver_class.image_attributes,
                    **driver_class.cloud_image_attributes,
                    **driver_class.zuul_image_attributes}),
                (self, driver_class.provider_attributes))]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    # Images

    def downloadUrl(self, url: str, path: str) -> str | None:
        if Ability.DOWNLOAD not in self.endpoint.abilities:
            return None
        return path if self.endpoint.calls.call(
            'downloadUrl', url, path) else None

    def getImageImportJob(self, url: str, provider_image: BaseProviderImage,
                          image_name: str, image_format: str,
                          metadata: dict[str, str], md5: str | None,
                          sha256: str | None) -> ImageJob | None:
        endpoint = self.endpoint
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        if (Ability.IMPORT not in endpoint.abilities
                or not endpoint.adapter.canImport(spec, url)):
            return None
        return ImageJob(endpoint.calls, 'importImage', lambda: (spec, url))

    def getImageCopyJob(self, source_provider: BaseProvider,
                        provider_image: BaseProviderImage, image_name: str,
                        image_format: str, metadata: dict[str, str],
                        md5: str | None,
                        sha256: str | None) -> ImageJob | None:
        endpoint = self.endpoint
        if (Ability.COPY not in endpoint.abilities
                or source_provider.driver is not self.driver):
            return None
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        source = source_provider.endpoint.adapter
        return ImageJob(endpoint.calls, 'copyImage',
                        lambda image_id: (spec, image_id, source))

    def getImageUploadJob(self, provider_image: BaseProviderImage,
                          image_name: str, image_format: str,
                          metadata: dict[str, str], md5: str | None,
                          sha256: str | None) -> ImageJob | None:
        endpoint = self.endpoint
        if Ability.IMAGES not in endpoint.abilities:
            return None
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        return ImageJob(endpoint.calls, 'uploadImage',
                        lambda path: (spec, path))

    def deleteImage(self, external_id: str | None) -> None:
        self.endpoint.deleteImage(external_id)


def _makeImageSpec(image: BaseProviderImage, name: str, image_format: str,
                   tags: dict[str, str], md5: str | None,
                   sha256: str | None) -> ImageSpec:
    return ImageSpec(
        name=name, upload_id=tags['zuul_upload_uuid'], tags=tags,
        format=image_format, image=image, timeout=image.import_timeout,
        md5=md5, sha256=sha256)
