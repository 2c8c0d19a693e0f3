"""The provider of nodes of any adapter: what is configured in git."""

import hashlib
import json
import math

from zuul.model import QuotaInformation

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


class ProviderWithAdapter:
    """What a provider has whose nodes an adapter makes, also one of a
    driver of Zuul's.

    :cvar create_class, delete_class: of the state machines of its nodes.
    """

    create_class = CreateStateMachine
    delete_class = DeleteStateMachine

    def getCreateStateMachine(self, node, image_external_id, log):
        return self.create_class(self, node, image_external_id, log)

    def getDeleteStateMachine(self, node, log):
        return self.delete_class(self, node, log)

    def makeSpec(self, label, name='', tags=None, **attributes):
        """:return: what an adapter is to be asked for, InstanceSpec."""
        return InstanceSpec(
            name=name, tags=tags or {}, provider=self, label=label,
            image=self.images[label.image],
            flavor=self.flavors[label.flavor], **attributes)

    def getZones(self, node):
        """
        :return: a list of the zones where a node may be, the one that is
            best first; of None if there are no zones.
        """
        label = self.labels[node.label]
        zones = getZones(label) or self.endpoint.getZones() or [None]
        # It may be given with others that are in a zone already.
        for zone in (getattr(label, 'az', None), node.az):
            if zone in zones:
                start = zones.index(zone)
                return zones[start:] + zones[:start]
        return turnZones(zones, node.request_time)

    def getConsoleLog(self, label, node):
        instance_id = node.create_state.get('instance_id')
        if instance_id is None or (
                Ability.CONSOLE not in self.endpoint.abilities):
            return None
        return self.endpoint.calls.call('getConsoleLog', instance_id)

    def getChecks(self):
        """:return: yields a Check for all that the configuration names."""
        return makeChecks(self)


class AdapterProvider(ProviderWithAdapter):
    """All that the providers of drivers have in common; each driver has a
    subclass of this and Zuul's ``BaseProvider``."""

    def parseImage(self, image_config, provider_config, connection):
        return self.driver_class.image_class(image_config, provider_config)

    def parseFlavor(self, flavor_config, provider_config, connection):
        return self.driver_class.flavor_class(flavor_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return self.driver_class.label_class(label_config, provider_config)

    @property
    def endpoint(self):
        return self.getEndpoint()

    def getEndpoint(self):
        return self.driver.getEndpoint(self)

    def getSnapshotStateMachine(self, node, log):
        if Ability.SNAPSHOTS not in self.endpoint.abilities:
            return None
        return SnapshotStateMachine(self, node, log)

    # Zones

    def getAZs(self):
        return self.endpoint.getZones() or [None]

    # Quota

    def getEndpointLimits(self):
        if Ability.LIMITS in self.endpoint.abilities:
            return self.endpoint.quota_cache.getLimits()
        return QuotaInformation(default=math.inf)

    def getQuotaForLabel(self, label):
        """
        :raises KeyError: the cloud has not been asked yet.
        """
        if Ability.NEEDS in self.endpoint.abilities:
            return getKnownNeeds(self.endpoint, self._getNeedsKey(label))
        return QuotaInformation(instances=1)

    def refreshQuotaForLabel(self, label, update):
        endpoint = self.endpoint
        if Ability.NEEDS in endpoint.abilities:
            refreshNeeds(
                endpoint, self._getNeedsKey(label), update, label,
                lambda: endpoint.calls.call('getNeeds', self.makeSpec(label)))

    def _getNeedsKey(self, label):
        """:return: the same for labels whose nodes take the same."""
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

    def downloadUrl(self, url, path):
        if Ability.DOWNLOAD not in self.endpoint.abilities:
            return None
        return path if self.endpoint.calls.call(
            'downloadUrl', url, path) else None

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        endpoint = self.endpoint
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        if (Ability.IMPORT not in endpoint.abilities
                or not endpoint.adapter.canImport(spec, url)):
            return None
        return ImageJob(endpoint.calls, 'importImage', lambda: (spec, url))

    def getImageCopyJob(self, source_provider, provider_image, image_name,
                        image_format, metadata, md5, sha256):
        endpoint = self.endpoint
        if (Ability.COPY not in endpoint.abilities
                or source_provider.driver is not self.driver):
            return None
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        source = source_provider.endpoint.adapter
        return ImageJob(endpoint.calls, 'copyImage',
                        lambda image_id: (spec, image_id, source))

    def getImageUploadJob(self, provider_image, image_name, image_format,
                          metadata, md5, sha256):
        endpoint = self.endpoint
        if Ability.IMAGES not in endpoint.abilities:
            return None
        spec = _makeImageSpec(provider_image, image_name, image_format,
                              metadata, md5, sha256)
        return ImageJob(endpoint.calls, 'uploadImage',
                        lambda path: (spec, path))

    def deleteImage(self, external_id):
        self.endpoint.deleteImage(external_id)


def _makeImageSpec(image, name, image_format, tags, md5, sha256):
    return ImageSpec(
        name=name, upload_id=tags['zuul_upload_uuid'], tags=tags,
        format=image_format, image=image, timeout=image.import_timeout,
        md5=md5, sha256=sha256)
