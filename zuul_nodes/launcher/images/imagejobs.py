"""Jobs of tenants, by which images are built, validated and deleted."""

import dataclasses

from zuul_nodes.imagepipelines import ImagePipelines
from zuul_nodes.launcher.images.events import ImageEvents
from zuul_nodes.launcher.images.eventtracker import EventTracker
from zuul_nodes.launcher.images.policy import Tenants


@dataclasses.dataclass
class ImageJobs:
    """
    :ivar ImageEvents events: what jobs are asked to do.
    :ivar ImagePipelines pipelines: what there is for it.
    :ivar Tenants tenants: who can do it.
    :ivar EventTracker event_tracker: where that is.
    """
    events: ImageEvents
    pipelines: ImagePipelines
    tenants: Tenants
    event_tracker: EventTracker
