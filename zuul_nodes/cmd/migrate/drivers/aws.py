"""Providers in AWS."""

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
from zuul_nodes.cmd.migrate.tree import Mapping, Sequence, getOrigin, iterate

# Attributes of volumes, of labels and of images.
VOLUME = {name: None for name in (
    'volume-type', 'volume-size', 'iops', 'throughput')}


def makeConnection(provider):
    options = common.getOptions(provider, {
        'profile-name': 'profile', 'rate': 'rate'})
    profile = options.get('profile')
    return f'aws-{profile}' if profile else 'aws', options


def lowerFilters(value):
    """:return: the filters with keys as zuul-nodes has them."""
    filters = Sequence(origin=getattr(value, 'origin', None))
    for each, origin in iterate(values.listOf(value)):
        lowered = Mapping()
        for key in each:
            item = each[key]
            if key.lower() == 'values':
                item = Sequence([values.text(one) for one in
                                 values.listOf(item)])
            lowered.put(key.lower(), item, getOrigin(each, key))
        filters.add(lowered, origin)
    return filters


AWS = Driver(
    driver='aws',
    connection=makeConnection,
    provider={
        **common.PROVIDER, **common.WITH_IMAGES,
        **{name: HANDLED for name in common.LIMITS},
        'profile-name': HANDLED,
        'region-name': To(Place.SECTION, 'region'),
        'object-storage': To(Place.SECTION),
        'image-format': To(Place.IMAGE_DEFAULTS),
        'image-import-timeout': To(Place.IMAGE_DEFAULTS, 'import-timeout'),
    },
    pool={
        **common.POOL, **common.HOST_KEYS, **common.RESOURCES,
        'availability-zone': To(Place.LABEL_DEFAULTS, 'az'),
        'subnet-id': To(Place.LABEL_DEFAULTS, 'subnet-ids', values.listOf),
        'security-group-id': To(Place.LABEL_DEFAULTS, 'security-group-ids',
                                values.listOf),
        'public-ip-address': To(Place.FLAVOR_DEFAULTS, 'public-ipv4'),
        'public-ipv4': To(Place.FLAVOR_DEFAULTS),
        'public-ipv6': To(Place.FLAVOR_DEFAULTS),
        'use-internal-ip': lost(
            'the launcher connects to the public address if there is one; '
            'set "public-ipv4: false" to have only the private one',
            when=bool),
    },
    label={
        **common.LABEL, **common.DYNAMIC_TAGS,
        **{name: To(Place.LABEL) for name in VOLUME},
        'instance-type': To(Place.FLAVOR),
        'fleet': To(Place.FLAVOR),
        'dedicated-host': To(Place.FLAVOR),
        'ebs-optimized': To(Place.FLAVOR),
        'use-spot': To(Place.FLAVOR, 'market-type',
                       values.onlyIf(True, 'spot')),
        'imdsv2': To(Place.LABEL, 'imds-http-tokens'),
        'key-name': To(Place.LABEL),
        'userdata': To(Place.LABEL),
        'iam-instance-profile': To(Place.LABEL),
        'host-key-checking': To(Place.LABEL),
        'tags': To(Place.LABEL, convert=values.texts),
    },
    cloud_image={
        **common.CLOUD_IMAGE,
        'image-id': To(Place.IMAGE),
        'image-filters': To(Place.IMAGE, convert=lowerFilters),
    },
    diskimage={
        **common.DISKIMAGE,
        **{name: To(Place.IMAGE) for name in VOLUME},
        'architecture': To(Place.IMAGE),
        'ena-support': To(Place.IMAGE),
        'import-method': To(Place.IMAGE),
        'imds-support': To(Place.IMAGE),
        'tags': To(Place.IMAGE, convert=values.texts),
    },
    defaults=(common.bootTimeout(180),),
    pool_defaults=(Default(Place.FLAVOR_DEFAULTS, 'public-ipv4', True),),
    inherited=common.LIMITS,
)
