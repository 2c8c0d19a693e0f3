"""A driver for Zuul: nodes and images of acme."""

from zuul_nodes.drivers import Driver, Optional, Required

from zuul_acme.adapter import AcmeAdapter


class AcmeDriver(Driver):
    """Servers of acme, and images for them."""

    name = 'acme'
    adapter_class = AcmeAdapter

    # The attributes of a connection in zuul.conf.  A real cloud has a URL and
    # credentials here.
    connection_attributes = {
        Required('path', doc='The directory that the toy cloud is in.'): str,
    }
    # The attributes that tenants set on their objects in git.
    flavor_attributes = {
        Optional('size', default='small',
                 doc='The size of the servers.'): str,
    }
    cloud_image_attributes = {
        Required('image-id', doc='The id of an image of the cloud.'): str,
    }
