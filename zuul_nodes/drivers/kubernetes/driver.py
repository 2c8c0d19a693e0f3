"""The driver that Zuul loads."""

import zuul.driver.kubernetes

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.kubernetes import allowed
from zuul_nodes.drivers.kubernetes.attributes import KubernetesProviderSchema
from zuul_nodes.drivers.kubernetes.connection import (
    SCHEMA,
    KubernetesConnection,
)
from zuul_nodes.drivers.kubernetes.endpoint import KubernetesEndpoint
from zuul_nodes.drivers.kubernetes.provider import KubernetesProvider


class KubernetesDriver(extension.ExtendedDriver,
                       zuul.driver.kubernetes.KubernetesDriver):
    """Zuul's driver for Kubernetes.

    Nodes are pods, in namespaces of their own or in an existing one, or
    empty namespaces; with OpenShift, projects.
    """

    provider_class = KubernetesProvider
    schema_class = KubernetesProviderSchema
    connection_schema = SCHEMA
    # A namespace has no image or flavor, and a pod's label sets its size.
    labels_need_image = False
    _endpoint_class = KubernetesEndpoint

    def getConnection(self, name, config):
        return KubernetesConnection(self, name, config)

    def checkBounds(self, connection, config):
        allowed.check(connection, config)
