"""What jobs are told of the image that they deal with."""

import logging

from kazoo.exceptions import NoNodeError
from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes.drivers import addresses
from zuul_nodes.imageuse import isUsable

log = logging.getLogger('zuul.nodes.drivers.zuul')


def getVariables(driver, job, item):
    """
    :param ZuulDriver driver: that of a process which is no scheduler does
        not read the records of what an event is about.
    :param FrozenJob job: of the item.
    :return: ``image`` -> a dict, as the documentation describes it; an
        empty dict for a job that has nothing to do with images.
    """
    name = _getName(job, item.event)
    if name is None:
        return {}
    image = {'name': name}
    try:
        if driver.sched:
            image |= _readRecords(driver.sched, item, name)
    except NoNodeError as error:
        log.warning('The job %s of %s is not told what it needs to know of '
                    'the image %s, for the record is gone: %s',
                    job.name, item, name, error)
    else:
        image['formats'] = driver.findFormats(item, name)
    return {'image': image}


def _getName(job, event):
    """:return: the image that it is about; None if that is none, or one of
        several."""
    if job.image_build_name:
        return job.image_build_name
    names = getattr(event, 'image_names', None) or ()
    return names[0] if len(names) == 1 else None


def _readRecords(sched, item, name):
    """
    :return: dict of what the records say that the event is about.
    :raises NoNodeError: one is not there.
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
    :raises NoNodeError: it is not there.
    """
    return record_class.fromZK(context, None, uuid=record_id)


def _describeArtifact(artifact):
    # The record may be one that Zuul has made of whatever a job returned,
    # and Ansible would take a brace for a template.
    try:
        addresses.checkUrl(artifact.url or '')
    except ValueError as error:
        log.warning('Jobs are not told where the artifact %s is: its URL %s',
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
