"""Distribution of the newest build of each image to all endpoints.

When an image has been built, a scheduler writes records of uploads for all
endpoints and configurations that it knows.  The launcher adds records for
those that are configured later, without another build.  It also adds records
where the newest build cannot be uploaded because its file is gone.
"""

import collections
import contextlib
import logging
import time
import uuid

from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes.launcher.images.needs import findUploads, getGood, getNeeds
from zuul_nodes.launcher.images.policy import (
    findNewest,
    findSource,
    withoutRejected,
)
from zuul_nodes.launcher.zookeeper import inState, sync


class Distribution:
    """Adds missing records of uploads.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the providers that need images.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, endpoints):
        self.records = records
        self.session = records.session
        self.schedule = schedule
        self.settings = schedule.settings
        self.layouts = layouts
        self.endpoints = endpoints
        self.builds = records.builds
        self.registry = records.uploads

    def reconcile(self):
        """Add missing uploads; the layouts of all tenants must be known."""
        for artifact in self.builds.getItems():
            if artifact.state is None:
                with self.schedule.isolate(artifact):
                    if self.schedule.isOlder(
                            artifact, self.settings.image_adoption_age):
                        self._adopt(artifact)
        missing = collections.defaultdict(dict)
        endpoints = self.endpoints.getServed()
        needs = {
            need: wanted for need, wanted
            in getNeeds(self.layouts, self.schedule).items()
            if need.endpoint_name in endpoints}
        good = getGood(self.builds, self.registry)
        gone = self.records.gone_files.get()
        for need, wanted in needs.items():
            artifacts = [each for each in good[need[:2]]
                         if each.state == each.State.READY]
            # If no build is available, a cloud may copy the newest one.
            uploads = findUploads(self.registry, need, wanted)
            artifact = findSource(artifacts, uploads, gone) or findNewest(
                withoutRejected(artifacts, uploads))
            if artifact and not self._has(artifact, need, wanted):
                missing[artifact][need] = wanted
        for artifact, several in missing.items():
            with self.schedule.isolate(artifact):
                self._add(artifact, several)

    def _adopt(self, artifact):
        """Complete a record that a scheduler has left unfinished.

        A scheduler does not continue, for example, when its pipeline is gone.
        """
        self.log.warning('Completing the record of %s, which a scheduler has '
                         'left unfinished', artifact)
        with self.session.context(None, self.log) as context, \
                contextlib.suppress(LockException), \
                artifact.locked(context, blocking=False) as lock, \
                self.session.context(lock, self.log) as own:
            artifact.refresh(own)
            if artifact.state is None:
                with artifact.activeContext(own):
                    artifact.state = artifact.State.READY

    def _has(self, artifact, need, wanted):
        """:return: whether there is a record of an upload, in any state."""
        return any(
            upload.artifact_uuid == artifact.uuid
            for upload in findUploads(self.registry, need, wanted))

    def _add(self, artifact, several):
        """Add uploads of an artifact.

        :param dict several: Need -> Wanted.
        """
        with self.session.context(None, self.log) as context:
            try:
                with artifact.locked(context, blocking=False) as lock:
                    self._addLocked(artifact, several, lock)
            except LockException:
                # Its uploads begin, or another launcher adds them.
                self.schedule.checkAfter(self.settings.image_lock_backoff)

    def _addLocked(self, artifact, several, lock):
        # The former owner of the lock may have added the same.
        sync(self.builds, self.registry)
        if (self.builds.getItem(artifact.uuid) is None
                or artifact.state != artifact.State.READY):
            return
        with self.session.context(lock, self.log) as context:
            for need, wanted in several.items():
                if self._has(artifact, need, wanted):
                    continue
                upload = ImageUpload.new(
                    context, uuid=uuid.uuid4().hex,
                    canonical_name=artifact.canonical_name,
                    artifact_uuid=artifact.uuid,
                    endpoint_name=need.endpoint_name,
                    providers=list(wanted.providers),
                    config_hash=need.config_hash, timestamp=time.time(),
                    validated=artifact.validated,
                    **inState(ImageUpload.State.PENDING))
                self.log.info('Adding %s of %s, which %s needs', upload,
                              artifact, ', '.join(wanted.providers))
