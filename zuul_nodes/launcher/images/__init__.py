"""Images: build events, builds, uploads, validation, retention and deletion.

:mod:`policy` holds every rule that says whether a build, an upload or a
provider is in service, kept or rejected.
"""

from zuul_nodes.launcher.images.common import Images
from zuul_nodes.launcher.images.deletion import remove
from zuul_nodes.launcher.images.distribution import Distribution
from zuul_nodes.launcher.images.events import EventKind, getEventPath
from zuul_nodes.launcher.images.reconciler import KEY
from zuul_nodes.launcher.images.steering import Steering
from zuul_nodes.launcher.images.tempdir import TempDirectory

__all__ = [
    'KEY',
    'Distribution',
    'EventKind',
    'Images',
    'Steering',
    'TempDirectory',
    'getEventPath',
    'remove',
]
