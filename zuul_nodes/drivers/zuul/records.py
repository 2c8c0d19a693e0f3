"""Create the records of built images and of their uploads.

A scheduler may die in between, and the next one repeats the report.  So the
ids of records are derived from their contents, and no record is created
twice.
"""

import collections
import contextlib
import itertools
import logging
import time
import uuid

from kazoo.exceptions import NodeExistsError
from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes import audit
from zuul_nodes.drivers.zuul.formats import getFormat

NAMESPACE = uuid.UUID('5d9a1a94-8d3c-4d0b-8c8e-6f3f3b1f7c55')
# Time-out in seconds.  Only a scheduler that has died holds a lock for long.
LOCK_TIMEOUT = 60

log = logging.getLogger('zuul.nodes.drivers.zuul')


def createArtifact(context, built, tenant_name, validated):
    """Record an image, which is not used before its uploads exist.

    :param ZKContext context:
    :param BuiltImage built:
    :param str tenant_name: of the build; uploads are validated there.
    :param validated: True, or None if uploads need to be validated.
    :return: the new or existing :class:`ImageBuildArtifact`.
    """
    image, build = built.image, built.build
    artifact_id = _makeId(
        build.uuid, image.canonical_name, built.format, built.url)
    audit.tell(
        audit.Event.CREATED, tenant=tenant_name,
        project=image.project_canonical_name, job=build.job.name,
        buildset=build.build_set.uuid, build=build.uuid,
        image=image.canonical_name, artifact=artifact_id)
    return _ensure(
        context, ImageBuildArtifact,
        uuid=artifact_id,
        name=image.name,
        canonical_name=image.canonical_name,
        project_canonical_name=image.project_canonical_name,
        project_branch=image.branch,
        build_tenant_name=tenant_name,
        build_uuid=build.uuid,
        format=built.format,
        md5sum=built.md5sum,
        sha256=built.sha256,
        url=built.url,
        timestamp=build.end_time,
        validated=validated)


def createUploads(sched, artifact):
    """Create the uploads of an image for all providers that need it.

    :param Scheduler sched:
    :param ImageBuildArtifact artifact: of :func:`createArtifact`.
    :raises LockException: another scheduler holds the lock.
    """
    if artifact.state is not None:
        return
    with contextlib.ExitStack() as stack:
        outer = stack.enter_context(sched.createZKContext(None, log))
        lock = stack.enter_context(
            artifact.locked(outer, timeout=LOCK_TIMEOUT))
        context = stack.enter_context(sched.createZKContext(lock, log))
        artifact.refresh(context)
        if artifact.state is not None:
            return
        uploads = _findUploads(list(sched.abide.tenants.values()), artifact)
        if not uploads:
            log.info('No provider needs %s in the format %s',
                     artifact, artifact.format)
        for key, providers in uploads.items():
            _createUpload(context, artifact, *key, providers)
        # In this state, launchers expect that all uploads exist.
        with artifact.activeContext(context):
            artifact.state = artifact.State.READY


def _createUpload(context, artifact, endpoint_name, config_hash, providers):
    now = time.time()
    upload = _ensure(
        context, ImageUpload,
        uuid=_makeId(artifact.uuid, endpoint_name, config_hash),
        canonical_name=artifact.canonical_name,
        artifact_uuid=artifact.uuid,
        endpoint_name=endpoint_name,
        providers=sorted(providers),
        config_hash=config_hash,
        timestamp=now,
        validated=artifact.validated,
        _state=ImageUpload.State.PENDING,
        state_time=now)
    log.info('Created an upload of %s for %s: %s',
             artifact, ', '.join(upload.providers), upload)


def _findUploads(tenants, artifact):
    """Find the uploads of an artifact.

    Providers share an upload if they have the same endpoint and the same
    configuration of the image.

    :return: (name of the endpoint, hash of the configuration) -> a set of
        the canonical names of providers.
    """
    uploads = collections.defaultdict(set)
    for provider in itertools.chain.from_iterable(
            tenant.layout.providers.values() for tenant in tenants):
        for image in provider.images.values():
            if (image.canonical_name != artifact.canonical_name
                    or getFormat(image) != artifact.format):
                continue
            try:
                endpoint = provider.getEndpoint()
            except Exception:
                # The other providers get the image nevertheless.
                log.exception('Unable to find the endpoint of %s:', provider)
                continue
            uploads[endpoint.canonical_name, image.zuul_config_hash].add(
                provider.canonical_name)
    return uploads


def _ensure(context, record_class, **attributes):
    """:return: the record, which is created unless it exists."""
    try:
        return record_class.new(context, **attributes)
    except NodeExistsError:
        log.info('%s %s exists already', record_class.__name__,
                 attributes['uuid'])
    return record_class.fromZK(context, None, uuid=attributes['uuid'])


def _makeId(*parts):
    # Only the last part may contain a line break.
    return uuid.uuid5(NAMESPACE, '\n'.join(parts)).hex
