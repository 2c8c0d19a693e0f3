"""Driver for OpenStack: extends Zuul's driver."""

import zuul.driver.openstack

from zuul_nodes.drivers import extension

# Our driver if it supports the installed Zuul, otherwise Zuul's.
OpenstackDriver = extension.chooseDriver(
    'zuul_nodes.drivers.openstack.driver:OpenstackDriver',
    zuul.driver.openstack.OpenstackDriver)
