"""The jobs of tenants that build, validate and delete images."""

import dataclasses

from zuul_nodes.imagepipelines import ImagePipelines
from zuul_nodes.launcher.images.events import ImageEvents
from zuul_nodes.launcher.images.eventtracker import EventTracker
from zuul_nodes.launcher.images.tenants import Tenants


@dataclasses.dataclass
class ImageJobs:
    """The parts that deal with jobs for images.

    :ivar ImageEvents events: sends events that make jobs run.
    :ivar ImagePipelines pipelines: the pipelines and jobs of all tenants.
    :ivar Tenants tenants: tells which tenant can do what.
    :ivar EventTracker event_tracker: finds events in Zuul's queues.
    """
    events: ImageEvents
    pipelines: ImagePipelines
    tenants: Tenants
    event_tracker: EventTracker
