"""What has become of the jobs that delete the files of images.

A pipeline for the event "image-delete" needs no reporter: the driver adds one
to it that records the result for the launcher.
"""

import logging

from kazoo.exceptions import NoNodeError
from zuul.driver.zuul import IMAGE_DELETE
from zuul.model import ImageBuildArtifact
from zuul.reporter import BaseReporter

from zuul_nodes import imageevents, messages
from zuul_nodes.drivers.zuul.formats import getLayout
from zuul_nodes.drivers.zuul.layouts import isTriggeredBy
from zuul_nodes.drivers.zuul.reporter import SUCCESS, tellRefused, warn
from zuul_nodes.drivers.zuul.variables import readRecord

log = logging.getLogger('zuul.nodes.drivers.zuul')
# A job returns it in "zuul": whether the file is gone.
DELETED = 'image_deleted'
# The ways to end on which Zuul reports.
ACTIONS = ('success_actions', 'failure_actions', 'no_jobs_actions',
           'config_error_actions', 'merge_conflict_actions',
           'disabled_actions')


def addReporters(driver, tenant):
    """Add a reporter to the pipelines of a tenant that delete files."""
    connection = driver.sched.connections.connections[driver.name]
    for manager in tenant.layout.pipeline_managers.values():
        pipeline = manager.pipeline
        if not isTriggeredBy(pipeline, IMAGE_DELETE):
            continue
        for name in ACTIONS:
            actions = getattr(pipeline, name)
            # Some names may be those of the same list.
            if not any(isinstance(each, DeletionReporter)
                       for each in actions):
                actions.append(DeletionReporter(driver, connection))


class DeletionReporter(BaseReporter):
    """Records whether a job has deleted the file that an event names."""

    name = 'zuul'

    def report(self, item, phase1=True, phase2=True):
        artifact_id = getattr(item.event, 'image_build_uuid', None)
        if not (phase2 and artifact_id):
            return
        if denied := self._explainDenied(item, artifact_id):
            # Launchers ask another tenant.
            message = (f'The deletion of the file of the image build '
                       f'{artifact_id} is ignored: {denied}')
            tellRefused(item, message)
            warn(item, [message])
            return
        images = getLayout(self.driver.sched, item).images
        problem = findProblem(item, all(
            name in images for name in item.event.image_names or ()))
        log.info('What %s has done with the file of the image build %s: %s',
                 item, artifact_id, problem or 'deleted it')
        imageevents.noteDeletion(
            self.driver.sched.zk_client.client, artifact_id, problem)

    def _explainDenied(self, item, artifact_id):
        """:return: why the operator does not allow the deletion to the
            tenant; None if it is allowed, or if the build is gone."""
        try:
            with self.driver.sched.createZKContext(None, log) as context:
                artifact = readRecord(
                    context, ImageBuildArtifact, artifact_id)
        except NoNodeError:
            return None
        return self.driver.explainDenied(
            item, IMAGE_DELETE, artifact.project_canonical_name)


def findProblem(item, has_image):
    """
    :param QueueItem item: that has ended.
    :param bool has_image: whether the tenant has the image; if not, jobs of
        the image have not run, and others say nothing by their success.
    :return: why its jobs have not deleted the file, one line; None if they
        have.
    """
    builds = item.current_build_set.getBuilds()
    said = {value for build in builds
            if isinstance(value := _getSaid(build), bool)}
    # Also those that are not voting, or were skipped.
    if said == {True} or (not said and has_image and builds and all(
            build.result == SUCCESS for build in builds)):
        return None
    results = ', '.join(f'{build.job.name}: {build.result}'
                        for build in builds)
    return messages.shorten(
        f'the pipeline {item.manager.pipeline.name} of the tenant '
        f'{item.manager.tenant.name} has not deleted it '
        f'({results or "no job has run"})')


def _getSaid(build):
    result = build.result_data
    zuul = result.get('zuul') if isinstance(result, dict) else None
    return zuul.get(DELETED) if isinstance(zuul, dict) else None
