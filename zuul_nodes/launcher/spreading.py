"""Has the newest build of each image uploaded to wherever it is needed.

A scheduler writes the records of uploads when an image has been built, for
all endpoints and configurations that it knows.  Those that are added later
get theirs here, without another build.
"""

import collections
import contextlib
import dataclasses
import logging
import time
import typing
import uuid

from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes.launcher.caches import sync
from zuul_nodes.launcher.imagelook import (
    KEY,
    alone,
    groupByArtifact,
    isOlder,
)
from zuul_nodes.launcher.policy import isBad
from zuul_nodes.launcher.uploads import LOCK_PAUSE

# Seconds that a scheduler has to write the uploads of a build.
ADOPTION_AGE = 300


class Need(typing.NamedTuple):
    """An image, as providers at an endpoint need it."""
    canonical_name: str
    format: str
    endpoint_name: str
    config_hash: str


@dataclasses.dataclass
class Wanted:
    """
    :ivar dict providers: their canonical names, as keys.
    :ivar set hashes: what records of uploads may say, also old ones.
    """
    providers: dict = dataclasses.field(default_factory=dict)
    hashes: set = dataclasses.field(default_factory=set)


class Spreading:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    """

    log = logging.getLogger('zuul.Launcher')

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
        needs = self._getNeeds()
        newest = self._getNewest({need[:2] for need in needs})
        for need, wanted in needs.items():
            artifact = newest.get(need[:2])
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

    def _getNeeds(self):
        """:return: dict of Need -> Wanted, at endpoints that are ours."""
        needs = collections.defaultdict(Wanted)
        endpoints = self.launcher.getEndpoints()
        for providers in self.launcher.tenant_providers.values():
            for provider in providers:
                with alone(self.launcher, provider):
                    _addNeeds(needs, provider, endpoints)
        return needs

    def _getNewest(self, names):
        """
        :param set names: of images, with their formats.
        :return: dict of those -> the newest artifact that is in use, and
            not known to be bad.
        """
        uploads = groupByArtifact(self.registry)
        newest = {}
        for artifact in self.builds.getItems():
            name = artifact.canonical_name, artifact.format
            if (artifact.state == artifact.State.READY and name in names
                    and not isBad(uploads[artifact.uuid])):
                newest[name] = max(newest.get(name, artifact), artifact,
                                   key=lambda each: each.timestamp or 0)
        return newest

    def _has(self, artifact, need, wanted):
        """:return: whether there is a record of an upload; whatever has
            become of it."""
        return any(
            upload.artifact_uuid == artifact.uuid
            and upload.endpoint_name == need.endpoint_name
            and upload.config_hash in wanted.hashes
            for upload in self.registry.getUploadsForImage(
                need.canonical_name))

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
                    _state=ImageUpload.State.PENDING,
                    state_time=time.time())
                self.log.info('Storing %s of %s, which %s needs', upload,
                              artifact, ', '.join(wanted.providers))


def _addNeeds(needs, provider, endpoints):
    endpoint_name = provider.getEndpoint().canonical_name
    if endpoint_name not in endpoints:
        return
    for image in provider.images.values():
        # Images of some drivers have no format.
        image_format = getattr(image, 'format', None)
        if image.type == 'zuul' and image_format:
            wanted = needs[Need(image.canonical_name, image_format,
                                endpoint_name, image.zuul_config_hash)]
            wanted.providers[provider.canonical_name] = True
            wanted.hashes |= {image.zuul_config_hash, image.config_hash}
