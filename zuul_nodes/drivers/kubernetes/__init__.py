"""Kubernetes and OpenShift: Zuul's driver, and what it lacks."""

import zuul.driver.kubernetes

from zuul_nodes.drivers import extension

# Ours, if it goes with the Zuul that is here.
KubernetesDriver = extension.chooseDriver(
    'zuul_nodes.drivers.kubernetes.driver:KubernetesDriver',
    zuul.driver.kubernetes.KubernetesDriver)
