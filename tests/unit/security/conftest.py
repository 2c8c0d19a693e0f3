import importlib.util

from tests.fixtures.sshservers import listen
from tests.unit.drivers.gce.conftest import gce
from tests.unit.drivers.gce.conftest import makeSite as makeGceSite
from tests.unit.drivers.kubernetes.conftest import cluster, core
from tests.unit.drivers.kubernetes.conftest import makeSite as makeClusterSite
from tests.unit.drivers.local.conftest import (
    archive,
    directory,
    key,
    options,
)
from tests.unit.drivers.local.conftest import makeSite as makeLocalSite
from tests.unit.drivers.openstack.conftest import (
    cloud,
    clouds_yaml,
    makeNodes,
    makeSite,
)
from tests.unit.drivers.zuul.conftest import (
    enqueue,
    loadTenant,
    makeScheduler,
    seams,
)
from tests.unit.drivers.zuul.conftest import makeSite as makeImageSite
from tests.unit.launcher.conftest import (
    image_launcher,
    log,
    racks,
    server,
    steps,
)

# Fixtures of the rooms that are attacked.
__all__ = [
    'archive',
    'cloud',
    'clouds_yaml',
    'cluster',
    'core',
    'directory',
    'enqueue',
    'gce',
    'image_launcher',
    'key',
    'listen',
    'loadTenant',
    'log',
    'makeClusterSite',
    'makeGceSite',
    'makeImageSite',
    'makeLocalSite',
    'makeNodes',
    'makeScheduler',
    'makeSite',
    'options',
    'racks',
    'seams',
    'server',
    'steps',
]

# Only some environments have the emulator.
if importlib.util.find_spec('moto'):
    from tests.unit.drivers.aws.conftest import aws
    from tests.unit.drivers.aws.conftest import makeSite as makeAwsSite
    __all__ += ['aws', 'makeAwsSite']
