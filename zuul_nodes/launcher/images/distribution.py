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
from zuul_nodes.launcher.images.reconciler import KEY, alone, isOlder
from zuul_nodes.launcher.images.uploads import LOCK_PAUSE
from zuul_nodes.launcher.zookeeper import inState, sync

# Seconds that a scheduler has to write the uploads of a build.
ADOPTION_AGE = 300


class Distribution:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.common.Images`.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, launcher):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.registry = launcher.image_upload_registry

    def reconcile(self):
        """To be called when the layouts of all tenants are known."""
        for artifact in self.builds.getItems():
            if artifact.state is None:
                with alone(self.launcher, artifact):
                    if isOlder(self.launcher, artifact, ADOPTION_AGE):
                        self._adopt(artifact)
        missing = collections.defaultdict(dict)
        endpoints = self.launcher.getEndpoints()
        needs = {
            need: wanted for need, wanted in getNeeds(self.launcher).items()
            if need.endpoint_name in endpoints}
        good = getGood(self.builds, self.registry)
        gone = gonefiles.getIds(self.launcher.zk_client.client)
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
            with alone(self.launcher, artifact):
                self._add(artifact, several)

    def _adopt(self, artifact):
        """Take over what a scheduler has not finished recording, and does
        not try again, because its pipeline is gone, say."""
        self.log.warning('Nobody has finished the record of %s', artifact)
        with self.launcher.createZKContext(None, self.log) as context, \
                contextlib.suppress(LockException), \
                artifact.locked(context, blocking=False) as lock, \
                self.launcher.createZKContext(lock, self.log) as own:
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
        with self.launcher.createZKContext(None, self.log) as context:
            try:
                with artifact.locked(context, blocking=False) as lock:
                    self._addLocked(artifact, several, lock)
            except LockException:
                # Its uploads are about to begin, or somebody else is here.
                self.launcher.queue.addAfter(KEY, LOCK_PAUSE)

    def _addLocked(self, artifact, several, lock):
        # Whoever had the lock before may have been quicker.
        sync(self.builds, self.registry)
        if (self.builds.getItem(artifact.uuid) is None
                or artifact.state != artifact.State.READY):
            return
        with self.launcher.createZKContext(lock, self.log) as context:
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
