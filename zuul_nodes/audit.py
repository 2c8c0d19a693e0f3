"""The audit log: who changed which node or image, and how.

The logger ``zuul.nodes.audit`` writes one JSON object a line.  A line precedes
the change that it describes, and the write to ZooKeeper.  If a launcher is
killed in between, the launcher that makes the change instead writes another
line.  If the change does not happen after all, a second line says so.
"""

import datetime
import enum
import functools
import json
import logging

from zuul.model import (
    ImageBuildArtifact,
    ImageUpload,
    NodesetRequest,
    ProviderNode,
)
from zuul.provider import BaseProvider

log = logging.getLogger('zuul.nodes.audit')
# Maximum length of a value in characters: tenants and clouds write some.
LENGTH = 500


class Event(enum.StrEnum):
    CREATED = 'created'
    USED = 'used'
    DELETED = 'deleted'
    IMPORTED = 'imported'
    UPLOADED = 'uploaded'
    VALIDATED = 'validated'
    REFUSED = 'refused'
    OVERRODE = 'overrode'
    ORDERED = 'ordered'


class Result(enum.StrEnum):
    # Another line gives the final result.
    BEGUN = 'begun'
    DONE = 'done'
    FAILED = 'failed'
    # The record was not written, because another process was faster.
    WITHDRAWN = 'withdrawn'
    # The connection to ZooKeeper was lost during the write.
    UNKNOWN = 'unknown'


def isEnabled():
    """:return: whether the lines are logged at all."""
    return log.isEnabledFor(logging.INFO)


def tell(event, *things, result=Result.DONE, **fields):
    """Write a line.

    :param Event event:
    :param things: the records and providers concerned, or None.  Fields of
        later ones override those of earlier ones.
    :param Result result:
    :param fields: additional fields, which override all others.
    """
    if not isEnabled():
        return
    line = {'time': datetime.datetime.now(datetime.UTC).isoformat(
                timespec='milliseconds'),
            'event': event, 'result': result}
    for each in (*map(_describe, things), fields):
        line |= {name: value for name, value in each.items()
                 if value not in (None, '')}
    # JSON escapes control characters, line breaks among them.
    log.info('%s', json.dumps({
        name: str(value)[:LENGTH] for name, value in line.items()}))


@functools.singledispatch
def _describe(thing):
    """:return: the fields of a record or a provider, a dict."""
    raise TypeError(f'the audit log has no fields for {type(thing)}')


@_describe.register
def _(thing: None):
    return {}


@_describe.register
def _(node: ProviderNode):
    return {'tenant': node.tenant_name, 'request': node.request_id,
            'node': node.uuid, 'host': node.main_node_id,
            'label': node.label, 'provider': node.provider,
            'external_id': _getExternalId(node)}


@_describe.register
def _(request: NodesetRequest):
    return {'tenant': request.tenant_name, 'pipeline': request.pipeline_name,
            'job': request.job_name, 'buildset': request.buildset_uuid,
            'request': request.uuid}


@_describe.register
def _(artifact: ImageBuildArtifact):
    return {'tenant': artifact.build_tenant_name,
            'project': artifact.project_canonical_name,
            'build': artifact.build_uuid, 'image': artifact.canonical_name,
            'artifact': artifact.uuid}


@_describe.register
def _(upload: ImageUpload):
    return {'image': upload.canonical_name, 'artifact': upload.artifact_uuid,
            'upload': upload.uuid, 'endpoint': upload.endpoint_name,
            'provider': ', '.join(upload.providers or ()),
            'external_id': upload.external_id}


@_describe.register
def _(provider: BaseProvider):
    return {'tenant': provider.tenant_name,
            'provider': provider.canonical_name}


def _getExternalId(node):
    """:return: the cloud's id of a node; None if unknown."""
    return (getattr(node.create_state_machine, 'instance_id', None)
            or (node.create_state or {}).get('instance_id')
            # Where Zuul's own drivers store it.
            or next(filter(None, node.getDriverData().values()), None))
