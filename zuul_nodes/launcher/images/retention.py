"""Retention: deletes the uploads and builds that are not kept.

:class:`.policy.Stock` decides.  The launcher deletes the uploads of a build
first.  Then a job deletes the artifact from its storage, if a tenant has such
a job.  After it has ended, the launcher removes the record.
"""

import logging

from zuul.model import ImageBuildArtifact

from zuul_nodes import unneededimages
from zuul_nodes.imageevents import EventKind
from zuul_nodes.launcher.images import policy
from zuul_nodes.launcher.images.transfers import findFormer, getPlace
from zuul_nodes.launcher.providers import describe
from zuul_nodes.launcher.zookeeper import makeRecord, sync


class Retention:
    """Deletes the uploads and artifacts that are not kept.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the images that are needed.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param ImageJobs jobs: the pipelines and events of tenants.
    :param Deletion deletion: executes the deletions.
    :param nodes_cache: the cache of all nodes, which may use images.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, endpoints, jobs, deletion,
                 nodes_cache):
        self.records = records
        self.builds = records.builds
        self.uploads = records.uploads
        self.schedule = schedule
        self.settings = schedule.settings
        self.layouts = layouts
        self.endpoints = endpoints
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.deletion = deletion
        self.nodes_cache = nodes_cache
        # Id of a record -> since when no provider needs it, of the monotonic
        # clock.
        self._unneeded = {}
        # Ids of uploads that no launcher can delete; logged once.
        self._unreachable = set()

    def reconcile(self):
        """Delete uploads that are not kept, and artifacts without uploads."""
        if self.layouts.scope.unread:
            # A provider in an unread layout may need any of them.
            return
        # An artifact gets its state after its uploads are written.  Reading
        # artifacts first makes sure that all of their uploads are seen.
        artifacts = {each.uuid: each for each in self.builds.getItems()}
        sync(self.uploads)
        stock = policy.Stock(
            self.layouts.scope, artifacts, list(self.uploads.getItems()),
            self.records.steering.getKept(), self.records.gone_files.get(),
            self.pipelines.isComplete)
        self._noteUnneeded(stock)
        for upload in stock.uploads:
            with self.schedule.isolate(upload):
                self._checkUpload(stock, upload)
        known = {}
        for artifact in artifacts.values():
            with self.schedule.isolate(artifact):
                self._checkArtifact(stock, artifact, known)
        for key in self.events.getKeys(EventKind.DELETE):
            if self.builds.getItem(key) is None:
                self.events.forgetEvent(EventKind.DELETE, key)
        self._forgetKept()

    def _forgetKept(self):
        """Remove requests to keep a build that is gone.

        An operator may have made the request while the build was reported.
        """
        kept = self.records.steering.getKept()
        if all(map(self.builds.getItem, kept)):
            return
        sync(self.builds)
        for key in kept:
            if self.builds.getItem(key) is None:
                self.records.steering.release(key)

    def _noteUnneeded(self, stock):
        """Record what no provider needs, and find what is overdue."""
        client = self.records.client
        unneeded, doubtful = stock.findUnneeded()
        recorded = self.records.unneeded.get()
        for uuid in recorded - unneeded - doubtful:
            unneededimages.forget(client, uuid)
        for uuid in unneeded - recorded:
            unneededimages.write(client, uuid)
        self._tellUnneeded(stock, unneeded - recorded)
        now = self.schedule.clock()
        self._unneeded = {uuid: self._unneeded[uuid] for uuid in unneeded
                          if uuid in self._unneeded}
        for uuid in unneeded - self._unneeded.keys():
            age = unneededimages.getAge(client, uuid)
            if age is not None:
                self._unneeded[uuid] = now - age
        stock.overdue = {
            uuid for uuid, since in self._unneeded.items()
            if self.schedule.isOver(
                since + self.settings.unneeded_image_delay - now)}

    def _tellUnneeded(self, stock, uuids):
        for record in (*stock.artifacts.values(), *stock.uploads):
            if record.uuid in uuids:
                self.log.warning(
                    'No provider of any tenant needs %s any more; the '
                    'launcher deletes it in %g s unless one does', record,
                    self.settings.unneeded_image_delay)

    # Uploads

    def _checkUpload(self, stock, upload):
        # Taken before the decision, which a later change may affect.
        version = upload.getZKVersion()
        verdict = stock.judgeUpload(upload)
        if (verdict.is_deleted and self._canDelete(upload)
                and (verdict is not policy.NO_BUILD
                     or self._isOrphan(upload))
                and not self._isInUse(upload)):
            self.deletion.addUpload(upload, version)

    def _canDelete(self, upload):
        """:return: whether this launcher deletes an upload; a present or
            former provider must be known for that."""
        endpoint = self.endpoints.get().get(upload.endpoint_name)
        if endpoint is None:
            return (self.endpoints.handles(getPlace(upload)[0])
                    and self._hasFormer(upload))
        return (not self.endpoints.leaves(endpoint)
                and self.deletion.findProvider(upload) is not None)

    def _hasFormer(self, upload):
        problem = 'its endpoint is unknown'
        try:
            if findFormer(self.layouts.scope, upload):
                self._unreachable.discard(upload.uuid)
                return True
        except Exception as error:
            problem = describe(error)
        if upload.uuid not in self._unreachable:
            self._unreachable.add(upload.uuid)
            self.log.warning(
                'Keeping %s: %s; if the endpoint is gone for good, remove the '
                'record with "zuul-nodes images forget %s --endpoint %s"',
                upload, problem, upload.artifact_uuid[:8],
                upload.endpoint_name)
        return False

    def _isInUse(self, upload):
        """:return: whether a node is being launched from an upload."""
        if not upload.external_id or upload.external_id not in map(
                _getImageId, self._getBuilding()):
            return False
        self.schedule.checkAfter(self.settings.image_use_interval)
        return True

    def _getBuilding(self):
        return [node for node in self.nodes_cache.getItems()
                if node.state == node.State.BUILDING]

    def _isOrphan(self, upload):
        """:return: whether the artifact of an upload is gone."""
        artifact = makeRecord(ImageBuildArtifact, uuid=upload.artifact_uuid)
        if self.records.client.exists(artifact.getPath()):
            self.log.warning('Unable to read the artifact of %s', upload)
            return False
        return True

    # Artifacts

    def _checkArtifact(self, stock, artifact, known):
        # Without a state, it still gets its uploads.
        if artifact.state not in (artifact.State.DELETING,
                                  artifact.State.READY):
            return
        version = artifact.getZKVersion()
        if (stock.judgeArtifact(artifact).is_deleted
                and not self.deletion.artifacts.isWaiting(
                    artifact, known)):
            self.deletion.addArtifact(artifact, version)


def _getImageId(node):
    """:return: external id of the image from which a node is launched, as all
        drivers keep it; None if there is none, or not yet."""
    machine = node.create_state_machine
    return getattr(machine, 'image_external_id', None) or (
        node.create_state or {}).get('image_external_id')
