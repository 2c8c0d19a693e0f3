"""The rules that tell which images are in service, kept or rejected.

All decisions follow from the current records and layouts.
"""

import collections
import itertools
import logging
import operator
from typing import NamedTuple

from zuul_nodes.canonicalnames import getProjectName
from zuul_nodes.imageuse import isGood, isUsable


class Verdict(NamedTuple):
    """What becomes of an upload or a build.

    :ivar is_deleted: whether the launcher deletes it.
    :ivar reason: for people.
    """
    is_deleted: bool
    reason: str


# Uploads

def groupByArtifact(uploads):
    """:return: the id of each artifact -> a list of its uploads."""
    grouped = collections.defaultdict(list)
    for upload in uploads:
        grouped[upload.artifact_uuid].append(upload)
    return grouped


def sortByAge(uploads, getArtifact):
    """
    :param getArtifact: gives the artifact with an id; None if it is unknown.
    :return: a list of the uploads whose builds are not being deleted, that of
        the oldest build first.  The time of an upload is that of its
        validation.
    """
    aged = []
    for upload in uploads:
        artifact = getArtifact(upload.artifact_uuid)
        if artifact is None or artifact.state != artifact.State.DELETING:
            aged.append((
                (artifact.timestamp or 0) if artifact else 0, upload))
    aged.sort(key=operator.itemgetter(0))
    return [upload for _, upload in aged]


def isRejected(upload):
    """:return: whether the validation of an upload has failed."""
    # Zuul's reporter also sets "validated" to False, without a build, for
    # "image-validated: false" in a pipeline that builds.
    return upload.validated is False and upload.build_uuid is not None


def isBad(uploads):
    """
    :param list uploads: all uploads of an artifact.
    :return: whether the build was rejected.  A build that was validated is bad
        only where it was rejected.
    """
    return (any(map(isRejected, uploads))
            and not any(upload.validated for upload in uploads))


def findBad(uploads):
    """:return: the ids of the artifacts of several uploads that are bad, as of
        :func:`isBad`."""
    return {artifact_id for artifact_id, own
            in groupByArtifact(uploads).items() if isBad(own)}


def isWaiting(upload):
    """:return: whether an upload is ready and waits for its validation."""
    return bool(upload.state == upload.State.READY and upload.external_id
                and not upload.validated and not isRejected(upload))


def isInService(upload, image, provider):
    """:return: whether the provider may use an upload for new nodes."""
    return isGood(upload) and isUsable(upload, image, provider)


def isSuperseded(upload, uploads):
    """
    :param list uploads: of the image, that of the oldest build first.
    :return: whether a newer build has an upload in its place.
    """
    place = upload.endpoint_name, upload.config_hash
    newer = itertools.dropwhile(
        lambda each: each.artifact_uuid != upload.artifact_uuid, uploads)
    return any(each.artifact_uuid != upload.artifact_uuid
               and (each.endpoint_name, each.config_hash) == place
               and not isRejected(each) for each in newer)


def getUsable(uploads, image, provider):
    """:return: a list of the uploads that a provider can use."""
    return [upload for upload in uploads if isUsable(upload, image, provider)]


def getKept(uploads, image, provider):
    """
    :param list uploads: of the image, that of the oldest build first.
    :return: the ids of the uploads that the provider keeps.
    """
    uploads = getUsable(uploads, image, provider)
    valid = _getNewest(filter(isGood, uploads), image.retain_count)
    newer = uploads[uploads.index(valid[0]):] if valid else uploads
    # A validation may be running.  The number is limited in case that all of
    # them fail.
    complete = [upload for upload in newer
                if upload.state == upload.State.READY and upload.external_id
                and not isRejected(upload)]
    unvalidated = [upload for upload in complete
                   if not upload.validated][-image.retain_count:]
    incomplete = [upload for upload in newer if upload not in complete]
    running = [upload for upload in incomplete
               if upload.state == upload.State.UPLOADING]
    # They may be completed, and failed ones show an operator the reason.
    newest = _getNewest(incomplete, image.retain_count)
    return {upload.uuid for upload in (
        *valid, *unvalidated, *running, *newest)}


def _getNewest(uploads, number):
    """:return: a list of those of the newest builds, of which each may have
        several if the configuration has changed."""
    uploads = list(uploads)
    builds = list(dict.fromkeys(
        upload.artifact_uuid for upload in uploads))[-number:]
    return [upload for upload in uploads if upload.artifact_uuid in builds]


# Files

def findSource(artifacts, uploads, gone):
    """Find the newest build that an endpoint has or can get.

    :param list artifacts: builds of an image in a format, neither rejected
        nor being deleted.
    :param list uploads: of these builds, at the endpoint.
    :param set gone: the ids of artifacts whose files are gone.
    :return: the newest artifact; None if the image has to be built again.
    """
    artifacts = withoutRejected(artifacts, uploads)
    # Without its file, a build may be copied from another cloud.  An operator
    # may also have restored the file and requested a retry.
    there = {upload.artifact_uuid for upload in uploads
             if upload.state in (upload.State.PENDING, upload.State.UPLOADING,
                                 upload.State.READY)}
    return findNewest(
        artifact for artifact in artifacts
        if artifact.uuid not in gone or artifact.uuid in there)


def withoutRejected(artifacts, uploads):
    """
    :param list uploads: of the artifacts, at an endpoint.
    :return: a list of those that were not rejected there.
    """
    bad = findBad(uploads)
    return [artifact for artifact in artifacts if artifact.uuid not in bad]


def findNewest(artifacts):
    """:return: the newest of several artifacts; None if there are none."""
    return max(artifacts, key=lambda each: each.timestamp or 0, default=None)


# Retention

# Why an upload or a build is kept or deleted.
ORDERED = Verdict(True, 'its deletion was ordered')
NO_BUILD = Verdict(True, 'its build is gone')
REJECTED = Verdict(True, 'it was rejected')
BAD = Verdict(True, 'its build was rejected')
REPLACED = Verdict(True, 'newer builds have replaced it')
UNNEEDED = Verdict(True, 'no provider needs it any more')
DOUBTFUL = Verdict(False, 'the launcher cannot tell what providers need')
STILL_UNNEEDED = Verdict(
    False, 'no provider needs it any more; it is deleted unless one does soon')
KEPT = Verdict(False, 'an operator keeps it')
NEEDED = Verdict(False, 'a provider needs it')
IN_USE = Verdict(False, 'it has uploads')
NEWEST = Verdict(False, 'it is the newest build')


class Stock:
    """All builds and uploads of images at one time, and what becomes of them.

    :param Scope scope: has the providers of all tenants.
    :param dict artifacts: id -> artifact.
    :param list uploads: of the artifacts, and those without artifact.
    :param set kept: the ids of artifacts that operators keep.
    :param set gone: the ids of artifacts whose files are gone.
    :param isComplete: as :meth:`.ImagePipelines.isComplete`.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, scope, artifacts, uploads, kept, gone, isComplete):
        self.scope = scope
        self.artifacts = artifacts
        self.uploads = uploads
        self.kept = kept
        self.gone = gone
        self.isComplete = isComplete
        # Ids of the uploads and artifacts that no provider has needed for
        # unneeded_image_delay; the caller knows the time.
        self.overdue = set()
        self.by_artifact = groupByArtifact(uploads)
        self._bad = findBad(uploads)
        self._needed = scope.getImageFormats()
        # Canonical name of an image -> ids of the uploads that providers can
        # use, and of those that they keep; None if that is unknown.
        self._usable = collections.defaultdict(set)
        self._held = collections.defaultdict(set)
        self._findHeld()
        ready = [each for each in artifacts.values()
                 if each.state == each.State.READY]
        self._newest = _getNewestTimes(ready)
        self._newest_gone = _getNewestTimes(
            each for each in ready if each.uuid in gone)

    def _findHeld(self):
        by_image = collections.defaultdict(list)
        for upload in sortByAge(self.uploads, self.artifacts.get):
            by_image[upload.canonical_name].append(upload)
        for provider in self.scope.providers:
            for image in provider.images.values():
                name = image.canonical_name
                if image.type != 'zuul' or self._held[name] is None:
                    continue
                try:
                    self._usable[name] |= {
                        upload.uuid for upload
                        in getUsable(by_image[name], image, provider)}
                    self._held[name] |= getKept(
                        by_image[name], image, provider)
                except Exception:
                    self.log.exception(
                        'Unable to determine which uploads of %s the %s '
                        'needs, keeping all of them:', name, provider)
                    self._held[name] = None

    def judgeUpload(self, upload):
        """:return: the :class:`Verdict` about an upload."""
        artifact = self.artifacts.get(upload.artifact_uuid)
        if artifact is None:
            return NO_BUILD
        if upload.State.DELETING in (upload.state, artifact.state):
            return ORDERED
        # Its record stays, so that the image is not uploaded again.
        if isRejected(upload) and upload.state != upload.State.FAILED:
            return REJECTED
        if artifact.uuid in self._bad and not isRejected(upload):
            return BAD
        held = self._held[upload.canonical_name]
        if held is None:
            return DOUBTFUL
        if artifact.uuid in self.kept:
            return KEPT
        if upload.uuid in held:
            return NEEDED
        if upload.uuid in self._usable[upload.canonical_name]:
            return REPLACED
        return (UNNEEDED if upload.uuid in self.overdue
                else STILL_UNNEEDED)

    def judgeArtifact(self, artifact):
        """:return: the :class:`Verdict` about an artifact that is ready or
            being deleted."""
        uploads = self.by_artifact[artifact.uuid]
        if artifact.state == artifact.State.DELETING:
            return IN_USE if uploads else ORDERED
        if artifact.uuid in self.kept:
            return KEPT
        if artifact.uuid in self.overdue:
            return UNNEEDED
        # The newest one is kept as evidence, even if it was rejected.
        if not _isOutdated(artifact, self._newest):
            return NEWEST
        if artifact.uuid in self.gone and _isOutdated(
                artifact, self._newest_gone):
            # The last one delays the next build.
            uploads = [upload for upload in uploads
                       if upload.state != upload.State.FAILED]
        return REPLACED if all(map(isRejected, uploads)) else IN_USE

    def findUnneeded(self):
        """
        :return: the ids of the uploads and artifacts that no provider needs,
            and of those of which that is unknown; two sets.
        """
        unneeded, doubtful = set(), set()
        for record, is_needed, isDoubtful in (
                *self._getArtifacts(), *self._getUploads()):
            if not is_needed:
                (doubtful if self.scope.unread or isDoubtful(record)
                 else unneeded).add(record.uuid)
        return unneeded, doubtful

    def _getArtifacts(self):
        """:return: yields artifacts, and whether a provider needs them."""
        for artifact in self.artifacts.values():
            if (artifact.state == artifact.State.READY
                    and artifact.uuid not in self.kept):
                yield artifact, artifact.format in self._needed[
                    artifact.canonical_name], self._isArtifactDoubtful

    def _getUploads(self):
        """:return: yields uploads, and whether a provider can use them."""
        for upload in self.uploads:
            artifact = self.artifacts.get(upload.artifact_uuid)
            if (artifact and artifact.uuid not in self.kept
                    and self._held[upload.canonical_name] is not None
                    and upload.State.DELETING not in (
                        upload.state, artifact.state)):
                yield upload, upload.uuid in self._usable[
                    upload.canonical_name], self._isUploadDoubtful

    def _isArtifactDoubtful(self, artifact):
        # Which images they have is unknown.
        return bool(self.scope.unreadable) or not self.isComplete(
            {artifact.project_canonical_name})

    def _isUploadDoubtful(self, upload):
        names = upload.providers or ()
        return not (self.scope.unreadable.isdisjoint(names)
                    and self.isComplete(set(map(getProjectName, names))))


def _getNewestTimes(artifacts):
    """:return: (name, format) of an image -> time of its newest build."""
    newest = collections.defaultdict(int)
    for artifact in artifacts:
        key = artifact.canonical_name, artifact.format
        newest[key] = max(newest[key], artifact.timestamp or 0)
    return newest


def _isOutdated(artifact, newest):
    key = artifact.canonical_name, artifact.format
    return (artifact.timestamp or 0) < newest[key]
