"""The audit log: who did what to which node or image.

One JSON object a line, of the logger ``zuul.nodes.audit``.  A line comes
before what it tells of is done or written to ZooKeeper: a launcher that is
killed in between has told it, and the one that does it instead tells it once
more.  What then does not happen is taken back by a second line.
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
# No value has more characters: tenants and clouds write some of them.
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


class Result(enum.StrEnum):
    # Another line tells how it ends.
    BEGUN = 'begun'
    DONE = 'done'
    FAILED = 'failed'
    # The record was not written: somebody else was quicker.
    WITHDRAWN = 'withdrawn'
    # The connection to ZooKeeper was lost meanwhile.
    UNKNOWN = 'unknown'


def isEnabled():
    """:return: whether anybody reads the lines."""
    return log.isEnabledFor(logging.INFO)


def tell(event, *things, result=Result.DONE, **fields):
    """Write a line.

    :param Event event:
    :param things: records and providers that it is about, or None; what a
        later one says counts.
    :param Result result:
    :param fields: what there is to say besides; these count most.
    """
    if not isEnabled():
        return
    line = {'time': datetime.datetime.now(datetime.UTC).isoformat(
                timespec='milliseconds'),
            'event': event, 'result': result}
    for each in (*map(_describe, things), fields):
        line |= {name: value for name, value in each.items()
                 if value not in (None, '')}
    # Control characters are escaped, line breaks among them.
    log.info('%s', json.dumps({
        name: str(value)[:LENGTH] for name, value in line.items()}))


@functools.singledispatch
def _describe(thing):
    """:return: a dict of the fields that a thing has."""
    raise TypeError(f'{type(thing)} has no place in the audit log')


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
    """:return: what the cloud calls a node, or None if that is not known."""
    return (getattr(node.create_state_machine, 'instance_id', None)
            or (node.create_state or {}).get('instance_id')
            # Where Zuul's drivers have it.
            or next(filter(None, node.getDriverData().values()), None))
