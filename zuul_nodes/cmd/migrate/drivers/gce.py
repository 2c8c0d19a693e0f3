"""Providers in Google Compute Engine."""

from zuul_nodes.cmd.migrate.drivers import common
from zuul_nodes.cmd.migrate.rules import HANDLED, Default, Driver, Place, To


def makeConnection(provider):
    options = common.getOptions(provider, {
        'project': 'project', 'rate': 'rate', 'rate-limit': 'rate'})
    return str(options.get('project') or 'gce'), options


GCE = Driver(
    driver='gce',
    connection=makeConnection,
    provider={
        **common.PROVIDER, **common.WITH_IMAGES,
        'project': HANDLED,
        'rate-limit': HANDLED,
        'region': To(Place.SECTION),
        'zone': To(Place.LABEL_DEFAULTS, 'az'),
    },
    pool={
        **common.POOL, **common.HOST_KEYS, **common.RESOURCES,
        'use-internal-ip': To(Place.PROVIDER),
    },
    label={
        **common.LABEL,
        'instance-type': To(Place.FLAVOR, 'machine-type'),
        'volume-type': To(Place.LABEL),
        'volume-size': To(Place.LABEL),
    },
    cloud_image={
        **common.CLOUD_IMAGE,
        **{name: To(Place.IMAGE) for name in (
            'image-id', 'image-project', 'image-family', 'key')},
    },
    defaults=(common.bootTimeout(60),),
    label_defaults=(
        Default(Place.LABEL, 'volume-size', 10),
        Default(Place.LABEL, 'volume-type', 'pd-standard'),
    ),
)
