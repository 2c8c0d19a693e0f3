"""Has the newest build of each image uploaded to wherever it is needed.

A scheduler writes the records of uploads when an image has been built, for
all endpoints and configurations that it knows.  Those that are added later
get theirs here, without another build; and so do those that can't have the
newest one, as its file is gone.
"""

import collections
import contextlib
import logging
import time
import uuid

from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes import gonefiles
from zuul_nodes.launcher.images.needs import findUploads, getGood, getNeeds
from zuul_nodes.launcher.images.policy import findNewest, findSource
from zuul_nodes.launcher.zookeeper import inState, sync


class Distribution:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param Layouts layouts: say where they are needed.
    :param HandledEndpoints endpoints: of which this launcher sees to the
        uploads.
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
        """To be called when the layouts of all tenants are known."""
        for artifact in self.builds.getItems():
            if artifact.state is None:
                with self.schedule.alone(artifact):
                    if self.schedule.isOlder(
                            artifact, self.settings.image_adoption_age):
                        self._adopt(artifact)
        missing = collections.defaultdict(dict)
        endpoints = self.endpoints.get()
        needs = {
            need: wanted for need, wanted
            in getNeeds(self.layouts, self.schedule).items()
            if need.endpoint_name in endpoints}
        good = getGood(self.builds, self.registry)
        gone = gonefiles.getIds(self.records.client)
        for need, wanted in needs.items():
            artifacts = [each for each in good[need[:2]]
                         if each.state == each.State.READY]
            # If there is none, that of the newest may be copied.
            artifact = findSource(
                artifacts, findUploads(self.registry, need, wanted),
                gone) or findNewest(artifacts)
            if artifact and not self._has(artifact, need, wanted):
                missing[artifact][need] = wanted
        for artifact, several in missing.items():
            with self.schedule.alone(artifact):
                self._add(artifact, several)

    def _adopt(self, artifact):
        """Take over what a scheduler has not finished recording, and does
        not try again, because its pipeline is gone, say."""
        self.log.warning('Nobody has finished the record of %s', artifact)
        with self.session.context(None, self.log) as context, \
                contextlib.suppress(LockException), \
                artifact.locked(context, blocking=False) as lock, \
                self.session.context(lock, self.log) as own:
            artifact.refresh(own)
            if artifact.state is None:
                with artifact.activeContext(own):
                    artifact.state = artifact.State.READY

    def _has(self, artifact, need, wanted):
        """:return: whether there is a record of an upload; whatever has
            become of it."""
        return any(
            upload.artifact_uuid == artifact.uuid
            for upload in findUploads(self.registry, need, wanted))

    def _add(self, artifact, several):
        """
        :param dict several: Need -> Wanted.
        """
        with self.session.context(None, self.log) as context:
            try:
                with artifact.locked(context, blocking=False) as lock:
                    self._addLocked(artifact, several, lock)
            except LockException:
                # Its uploads are about to begin, or somebody else is here.
                self.schedule.lookAfter(self.settings.image_lock_pause)

    def _addLocked(self, artifact, several, lock):
        # Whoever had the lock before may have been quicker.
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
                self.log.info('Storing %s of %s, which %s needs', upload,
                              artifact, ', '.join(wanted.providers))
