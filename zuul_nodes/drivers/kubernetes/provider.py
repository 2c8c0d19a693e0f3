"""The provider of pods and namespaces, made from the flat configuration."""

from zuul.driver.kubernetes import kubernetesprovider
from zuul.model import QuotaInformation

from zuul_nodes.drivers import DriverError, extension, fillIn
from zuul_nodes.drivers.kubernetes import quota
from zuul_nodes.drivers.kubernetes.attributes import (
    KubernetesImage,
    KubernetesLabel,
    KubernetesProviderSchema,
)
from zuul_nodes.drivers.kubernetes.checks import Checks
from zuul_nodes.drivers.kubernetes.deletion import (
    KubernetesDeleteStateMachine,
)
from zuul_nodes.drivers.kubernetes.place import findContainer, findPlace
from zuul_nodes.drivers.kubernetes.podspec import getImage, makeSpec
from zuul_nodes.drivers.kubernetes.quantities import getNeeds
from zuul_nodes.drivers.kubernetes.statemachine import (
    KubernetesCreateStateMachine,
)

extension.yieldRecords(kubernetesprovider.KubernetesProvider)


class KubernetesProvider(kubernetesprovider.KubernetesProvider,
                         subclass_id='kubernetes'):
    schema = KubernetesProviderSchema().getProviderSchema()
    internal_schema = KubernetesProviderSchema().getProviderSchema(
        internal=True)

    def parseImage(self, image_config, provider_config, connection):
        return KubernetesImage(image_config, provider_config)

    def parseLabel(self, label_config, provider_config, connection):
        return KubernetesLabel(label_config, provider_config)

    def validateConfig(self, config):
        """
        :raises Exception: a label has neither a spec nor an image for a pod.
        """
        for label in config['labels'].values():
            if label.kind == 'pod' and label.spec is None and not getImage(
                    label, config['images'][label.image])['image-id']:
                raise Exception(
                    f'The label "{label.name}" of the kind "pod" has no '
                    f'"spec", and its image "{label.image}" has no '
                    f'"image-id". Set one of them')

    def getEndpointLimits(self):
        return self.endpoint.quota_cache.getLimits()

    def getQuotaForLabel(self, label):
        if label.kind == 'namespace':
            return QuotaInformation(namespaces=1)
        spec = makeSpec(label)
        place = {'namespaces': 1}
        if label.namespace:
            place = quota.qualify(label.namespace, quota.measure(spec))
        return QuotaInformation(pods=1, **place, **getNeeds(spec))

    def getNodeTags(self, system_id, label, node_uuid, request=None):
        tags = super().getNodeTags(system_id, label, node_uuid, request)
        values = request and request.getSafeAttributes().toDict()
        dynamic = {key: fillIn(template, values) for key, template
                   in label.dynamic_labels.items()} if request else {}
        return {**label.labels, **dynamic, **tags}

    def getCreateStateMachine(self, node, image_external_id, log):
        return KubernetesCreateStateMachine(self, node, log)

    def getDeleteStateMachine(self, node, log):
        return KubernetesDeleteStateMachine(self, node, log)

    def getConsoleLog(self, label, node):
        """
        :return: the events of a pod and the output of the container that jobs
            use, or None if the node is not a pod.
        """
        place = findPlace(node, label)
        if not place.pod:
            return None
        call, where = self.endpoint.calls.call, (place.namespace, place.pod)
        lines = [f'{event.get("reason")}: {event.get("message")}'
                 for event in call('listEvents', *where)]
        try:
            lines.append(call('readLog', *where, findContainer(node, label)))
        except DriverError as error:
            # A container that has not started has no log.
            lines.append(str(error))
        return '\n'.join(lines)

    def getChecks(self):
        """:return: yields a :class:`Check` for all that the configuration
            names."""
        yield from Checks(self).makeChecks()
