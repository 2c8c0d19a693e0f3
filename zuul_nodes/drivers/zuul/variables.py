"""The variables of a job about its image."""

import logging

from kazoo.exceptions import NoNodeError
from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes.drivers import addresses
from zuul_nodes.imageuse import isUsable

log = logging.getLogger('zuul.nodes.drivers.zuul')


def getVariables(driver, job, item):
    """
    :param ZuulDriver driver: reads the records of an event's image only in a
        scheduler.
    :param FrozenJob job: of the item.
    :return: ``image`` -> a dict, as the documentation describes it; an empty
        dict for a job without an image.
    """
    name = _getName(job, item.event)
    if name is None:
        return {}
    image = {'name': name}
    try:
        if driver.sched:
            image |= _readRecords(driver.sched, item, name)
    except NoNodeError as error:
        log.warning('The job %s of %s gets no information about the image %s, '
                    'because a record does not exist any more: %s',
                    job.name, item, name, error)
    else:
        image['formats'] = driver.findFormats(item, name)
    return {'image': image}


def _getName(job, event):
    """:return: the name of the job's image; None if there is none or there are
        several."""
    if job.image_build_name:
        return job.image_build_name
    names = getattr(event, 'image_names', None) or ()
    return names[0] if len(names) == 1 else None


def _readRecords(sched, item, name):
    """
    :return: dict of values from the records of the event's image.
    :raises NoNodeError: a record does not exist.
    """
    upload_id = getattr(item.event, 'image_upload_uuid', None)
    artifact_id = getattr(item.event, 'image_build_uuid', None)
    if not (upload_id or artifact_id):
        return {}
    with sched.createZKContext(None, log) as context:
        if not upload_id:
            return _describeArtifact(
                readRecord(context, ImageBuildArtifact, artifact_id))
        upload = readRecord(context, ImageUpload, upload_id)
        artifact = readRecord(
            context, ImageBuildArtifact, upload.artifact_uuid)
    return (_describeArtifact(artifact)
            | _describeUpload(upload, item.manager.tenant, name))


def readRecord(context, record_class, record_id):
    """
    :param ZKContext context:
    :param record_class: of an artifact or an upload.
    :return: the record.
    :raises NoNodeError: the record does not exist.
    """
    return record_class.fromZK(context, None, uuid=record_id)


def _describeArtifact(artifact):
    # Zuul may have created the record from unchecked results of a job, and
    # Ansible would evaluate a brace as a template.
    try:
        addresses.checkUrl(artifact.url or '')
    except ValueError as error:
        log.warning('Hiding the URL of artifact %s from jobs: the URL %s',
                    artifact.uuid, error)
        url = None
    else:
        url = artifact.url
    return {
        'artifact_uuid': artifact.uuid,
        'format': artifact.format,
        'md5sum': artifact.md5sum,
        'sha256': artifact.sha256,
        'url': url,
    }


def _describeUpload(upload, tenant, name):
    providers = sorted(
        provider.canonical_name for provider in
        tenant.layout.providers.values()
        if (image := provider.images.get(name)) and image.type == 'zuul'
        and image.canonical_name == upload.canonical_name
        and isUsable(upload, image, provider))
    return {
        'endpoint': upload.endpoint_name,
        'external_id': upload.external_id,
        'provider': providers[0] if providers else None,
        'providers': providers,
        'upload_uuid': upload.uuid,
    }
