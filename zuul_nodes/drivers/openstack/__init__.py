"""OpenStack: Zuul's driver, and what it lacks."""

import zuul.driver.openstack

from zuul_nodes.drivers import extension

# Ours, if it goes with the Zuul that is here.
OpenstackDriver = extension.chooseDriver(
    'zuul_nodes.drivers.openstack.driver:OpenstackDriver',
    zuul.driver.openstack.OpenstackDriver)
