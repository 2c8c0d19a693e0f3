"""Providers in OpenStack, which include those without ``driver``."""

from zuul_nodes.cmd.migrate import values
from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Default,
    Driver,
    Place,
    To,
    lost,
)
from zuul_nodes.cmd.migrate.tree import getOrigin

OLD = lost('Nodepool 11 does not read it')
FIELDS = frozenset((
    'request.id', 'request.event_id', 'request.tenant_name',
    'request.created_time', 'node.id', 'label.name', 'image.name',
    'flavor.name', 'provider.name'))
# GB of a volume that a node boots from, if nothing is said.
VOLUME_SIZE = 50


def makeConnection(provider):
    options = common.getOptions(provider, {'cloud': 'cloud', 'rate': 'rate'})
    # Seconds between calls to Nodepool, calls in a second to Zuul.
    options['rate'] = _invert(options.get('rate', 1))
    return str(options.get('cloud') or 'openstack'), options


def _invert(rate):
    try:
        inverse = 1 / float(rate)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return int(inverse) if inverse >= 10 or inverse == int(inverse) else round(
        inverse, 3)


def complete(parts, label, pool):
    attributes = parts[Place.LABEL]
    if attributes.get('boot-from-volume') and 'volume-size' not in attributes:
        attributes.put('volume-size', VOLUME_SIZE)


def completeImage(parts, image):
    attributes = parts[Place.IMAGE]
    if not {'image-id', 'image-name'} & attributes.keys():
        # The name of the entry is that of the image in the cloud.
        attributes.put('image-name', image['name'],
                       getOrigin(image, 'name').withoutComments())


OPENSTACK = Driver(
    driver='openstack',
    connection=makeConnection,
    provider={
        **common.PROVIDER, **common.WITH_IMAGES,
        'cloud': HANDLED,
        'region-name': To(Place.SECTION, 'region'),
        'clean-floating-ips': To(Place.SECTION, 'floating-ip-cleanup'),
        'port-cleanup-interval': To(Place.SECTION),
        'image-upload-timeout': To(
            Place.IMAGE_DEFAULTS, 'import-timeout',
            changes='the time begins when the whole image has been sent'),
        'image-name-format': lost('zuul-nodes names the images; scripts that '
                                  'look for names have to change'),
        'nodepool-id': OLD,
        'api-timeout': lost('Nodepool 11 does not read it; "api_timeout" of '
                            'the connection is the like'),
        'image-type': lost('Nodepool 11 does not read it; "image_format" in '
                           'clouds.yaml says the format'),
        'hostname-format': OLD,
        'template-hostname': OLD,
        'ipv6-preferred': OLD,
        'networks': lost('Nodepool 11 reads "networks" of pools and labels '
                         'only'),
        'max-servers': lost('Nodepool 11 reads "max-servers" of pools only'),
    },
    pool={
        **common.POOL, **common.HOST_KEYS, **common.RESOURCES,
        'max-volumes': To(Place.LIMITS, 'volumes', values.limit),
        'max-volume-gb': To(Place.LIMITS, 'volume-gb', values.limit),
        'ignore-provider-quota': To(Place.PROVIDER),
        'availability-zones': To(Place.LABEL_DEFAULTS, 'az', values.listOf),
        'networks': To(Place.LABEL_DEFAULTS, convert=values.listOf),
        'security-groups': To(Place.LABEL_DEFAULTS, convert=values.listOf),
        'auto-floating-ip': To(Place.LABEL_DEFAULTS),
    },
    label={
        **common.LABEL,
        'flavor-name': To(Place.FLAVOR, convert=values.text),
        'min-ram': To(Place.FLAVOR, changes='of several flavors with that '
                      'much RAM, zuul-nodes takes the one with the fewest '
                      'processors and the smallest disk, Nodepool the first '
                      'by name'),
        'boot-from-volume': To(Place.LABEL),
        'volume-size': To(Place.LABEL),
        'host-key-checking': To(Place.LABEL),
        'networks': To(Place.LABEL, convert=values.listOf),
        'key-name': To(Place.LABEL),
        'console-log': To(Place.LABEL),
        'userdata': To(Place.LABEL),
        'instance-properties': To(Place.LABEL, convert=values.texts),
        'dynamic-instance-properties': To(
            Place.LABEL, convert=values.renameFields(FIELDS, '.')),
    },
    cloud_image={
        **common.CLOUD_IMAGE,
        'config-drive': To(Place.IMAGE),
        'image-id': To(Place.IMAGE, convert=values.text),
        'image-name': To(Place.IMAGE, convert=values.text),
    },
    diskimage={
        **common.DISKIMAGE,
        'config-drive': To(Place.IMAGE),
        'meta': To(Place.IMAGE, 'tags', values.texts),
    },
    defaults=(
        common.bootTimeout(60),
        # "false" lets the cloud decide, as Nodepool does; Zuul's default is
        # true.
        Default(Place.IMAGE_DEFAULTS, 'config-drive', False),
        Default(Place.IMAGE_DEFAULTS, 'import-timeout', 3600,
                of_uploads=True),
    ),
    complete=complete,
    complete_image=completeImage,
)
