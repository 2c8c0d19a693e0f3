"""Driver for Kubernetes and OpenShift: extends Zuul's driver."""

import zuul.driver.kubernetes

from zuul_nodes.drivers import extension

# Our driver if it supports the installed Zuul, otherwise Zuul's.
KubernetesDriver = extension.chooseDriver(
    'zuul_nodes.drivers.kubernetes.driver:KubernetesDriver',
    zuul.driver.kubernetes.KubernetesDriver)
