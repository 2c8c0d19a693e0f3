"""A region of an OpenStack cloud, as all providers of it share it."""

from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers.openstack.images import Images
from zuul_nodes.drivers.openstack.instances import Instances
from zuul_nodes.drivers.openstack.quota import Quota
from zuul_nodes.drivers.openstack.resources import Resources


class OpenstackEndpoint(Images, Resources, Quota, Instances,
                        openstackendpoint.OpenstackProviderEndpoint):
    """Zuul's endpoint, and what it lacks."""
