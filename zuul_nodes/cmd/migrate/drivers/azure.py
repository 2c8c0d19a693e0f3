"""Providers in Azure."""

from zuul_nodes.cmd.migrate import values
from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.rules import (
    HANDLED,
    Default,
    Driver,
    Place,
    To,
    Unfit,
    lost,
)
from zuul_nodes.cmd.migrate.tree import Mapping

ADDRESSES = {
    # "flavor-defaults" do not have these.
    **{name: To(Place.PROVIDER) for name in ('ipv4', 'ipv6')},
    **{name: To(Place.FLAVOR_DEFAULTS) for name in (
        'public-ipv4', 'public-ipv6')},
    'use-internal-ip': To(Place.PROVIDER),
    'host-key-checking': To(Place.LABEL_DEFAULTS),
}
# Nodepool's default rate, in calls per second.
RATE = 1


def makeConnection(provider):
    options = common.getOptions(provider, {
        'auth-path': 'shared_credentials_file', 'rate': 'rate'})
    options.setdefault('rate', RATE)
    return 'azure', options


def makeReference(value):
    """:return: a network as ``subnet-reference``."""
    if isinstance(value, str):
        return Mapping({'network': value})
    return value


def getSize(value):
    """:return: the size in a hardware profile."""
    if not isinstance(value, Mapping) or 'vm-size' not in value:
        raise Unfit('it has no "vm-size"')
    return value['vm-size']


AZURE = Driver(
    driver='azure',
    connection=makeConnection,
    provider={
        **common.PROVIDER, **common.WITH_IMAGES,
        **{name: HANDLED for name in ADDRESSES},
        'auth-path': HANDLED,
        'location': To(Place.SECTION, 'region'),
        'resource-group': To(Place.SECTION),
        'resource-group-location': lost(
            'the resource group has to be there; Nodepool creates it'),
        'subnet-id': To(Place.LABEL_DEFAULTS),
        'network': To(Place.LABEL_DEFAULTS, 'subnet-reference',
                      makeReference),
        'zuul-public-key': To(Place.LABEL_DEFAULTS, 'key-data'),
    },
    pool={**common.POOL, **common.RESOURCES, **ADDRESSES},
    label={
        **common.LABEL, **common.DYNAMIC_TAGS,
        'hardware-profile': To(Place.FLAVOR, 'vm-size', getSize),
        'tags': To(Place.LABEL, convert=values.texts),
        'user-data': To(Place.LABEL, 'userdata'),
        'custom-data': To(Place.LABEL),
        'volume-size': To(Place.LABEL),
    },
    cloud_image={
        **common.CLOUD_IMAGE,
        # Labels have the key, not images.
        'key': To(Place.LABEL, 'key-data'),
        'password': lost('passwords do not belong into git; set '
                         '"generate-password: true"'),
        **{name: To(Place.IMAGE) for name in (
            'generate-password', 'image-filter', 'image-id',
            'image-reference', 'shared-gallery-image',
            'community-gallery-image')},
    },
    diskimage={
        **common.DISKIMAGE,
        'key': To(Place.LABEL, 'key-data'),
        'tags': To(Place.IMAGE, convert=values.texts),
    },
    defaults=(common.bootTimeout(120),),
    pool_defaults=(Default(Place.FLAVOR_DEFAULTS, 'public-ipv4', True),),
    inherited=tuple(ADDRESSES),
)
