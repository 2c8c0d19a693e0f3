"""A region of an OpenStack cloud, as all providers of it share it."""

from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers.openstack.cloud.quota import Quota
from zuul_nodes.drivers.openstack.cloud.resources import Resources
from zuul_nodes.drivers.openstack.images.images import Images
from zuul_nodes.drivers.openstack.servers.instances import Instances


class OpenstackEndpoint(Images, Resources, Quota, Instances,
                        openstackendpoint.OpenstackProviderEndpoint):
    """Zuul's endpoint, and what it lacks."""
