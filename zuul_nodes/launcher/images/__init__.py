"""Images: build events, builds, uploads, validation, retention and deletion.

:mod:`policy` contains every rule that decides whether a build, an upload or a
provider is in service, kept or rejected.  :mod:`tenants` contains those that
assign the work to tenants.
"""

from zuul_nodes.launcher.images.artifactdeletion import ArtifactDeletion
from zuul_nodes.launcher.images.builds import ImageBuilds
from zuul_nodes.launcher.images.deletion import Deletion, remove
from zuul_nodes.launcher.images.distribution import Distribution
from zuul_nodes.launcher.images.events import ImageEvents
from zuul_nodes.launcher.images.eventtracker import EventTracker
from zuul_nodes.launcher.images.imagejobs import ImageJobs
from zuul_nodes.launcher.images.imagerecords import ImageRecords
from zuul_nodes.launcher.images.nodeimages import NodeImages
from zuul_nodes.launcher.images.pendinguploads import PendingUploads
from zuul_nodes.launcher.images.policy import Stock
from zuul_nodes.launcher.images.reconciler import ImageReconciler, Images
from zuul_nodes.launcher.images.retention import Retention
from zuul_nodes.launcher.images.schedule import KEY, Schedule
from zuul_nodes.launcher.images.tempdir import TempDirectory
from zuul_nodes.launcher.images.tenants import Tenants
from zuul_nodes.launcher.images.uploads import Uploads
from zuul_nodes.launcher.images.validation import Validation

__all__ = [
    'KEY',
    'ArtifactDeletion',
    'Deletion',
    'Distribution',
    'EventTracker',
    'ImageBuilds',
    'ImageEvents',
    'ImageJobs',
    'ImageReconciler',
    'ImageRecords',
    'Images',
    'NodeImages',
    'PendingUploads',
    'Retention',
    'Schedule',
    'Stock',
    'TempDirectory',
    'Tenants',
    'Uploads',
    'Validation',
    'remove',
]
