"""The records of images, as the command ``images`` reads them."""

import contextlib
import urllib.parse

from kazoo.exceptions import NoNodeError

from zuul_nodes import (
    gonefiles,
    imagecontrols,
    imageevents,
    imagelayouts,
    imageproblems,
    undelivered,
    unneededimages,
    zkrecords,
)
from zuul_nodes.cmd.common.zkobjects import readAll
from zuul_nodes.exceptions import UserError
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imageremarks import Remarks
from zuul_nodes.suggestions import suggest

ARTIFACTS = '/zuul/images/artifacts'
UPLOADS = '/zuul/image-uploads/uploads'
LAYOUTS = '/zuul/layout'
# Minimum length of an abbreviated build id.
SHORTEST_ID = 4


def readImages(client, connections, layouts):
    """
    :param KazooClient client: may be read-only.
    :param dict layouts: as of :func:`readLayouts`.
    :param set connections: the names of the connections in zuul.conf.
    :return: a list of images, sorted by name, each a dict: ``canonical_name``,
        ``name``, ``tenants`` that have it, ``builders`` (the tenants
        that build it on request), ``denied`` (the tenants that the operator
        does not allow to build it), ``paused`` (the reason, or None),
        ``problem`` (why it is not built or missing somewhere, or None),
        ``undelivered`` (tenant -> formats that its builds lack, a sorted list)
        and ``builds``.  The builds are the records of its artifacts, the
        oldest first, each with ``kept`` (the reason, or None), ``file_gone``
        (why its file is considered gone, or None), ``file_deletion`` (None, or
        a dict of ``tenant``, ``attempt`` and ``problem`` of the event to
        delete its file) and its ``uploads``, each of which may have
        ``progress`` and a ``remark``.  Builds and uploads have
        ``unneeded_since``, when the last provider has lost them, or None.
    """
    images = {}
    for tenant_name, layout in layouts.items():
        for name, image in layout.images.items():
            images.setdefault(name, _makeImage(name, image['name']))[
                'tenants'].append(tenant_name)
    kept = imagecontrols.readAll(client, Control.KEPT)
    gone = gonefiles.getIds(client)
    unneeded = unneededimages.readAll(client)
    builds = {}
    for artifact in readAll(client, ARTIFACTS):
        name = artifact['canonical_name']
        builds[artifact['uuid']] = artifact | {
            'kept': kept.get(artifact['uuid']), 'uploads': [],
            'file_gone': gonefiles.read(client, artifact['uuid'])
            if artifact['uuid'] in gone else None,
            'file_deletion': _readDeletion(client, artifact),
            'unneeded_since': unneeded.get(artifact['uuid'])}
        images.setdefault(name, _makeImage(name, artifact['name']))[
            'builds'].append(builds[artifact['uuid']])
    remarks = Remarks(client)
    with_remark = remarks.getKeys()
    for upload in readAll(client, UPLOADS):
        if upload['artifact_uuid'] in builds:
            upload['unneeded_since'] = unneeded.get(upload['uuid'])
            upload['remark'] = _getVanished(upload, connections) or (
                remarks.getRemark(upload['uuid'])
                if upload['uuid'] in with_remark else None)
            builds[upload['artifact_uuid']]['uploads'].append(upload)
    paused = imagecontrols.readAll(client, Control.PAUSED)
    for name, image in images.items():
        image['builds'].sort(key=lambda each: (
            each['timestamp'] or 0, each['format']))
        for build in image['builds']:
            build['uploads'].sort(key=lambda each: each['endpoint_name'])
        image['paused'] = paused.get(name)
        image['builders'] = imageproblems.getBuilders(layouts, name)
        image['denied'] = imageproblems.getDenied(layouts, name)
        image['undelivered'] = {
            tenant_name: sorted(each.formats) for tenant_name, each
            in undelivered.read(client, name).items()}
        image['problem'] = (
            imageproblems.findRequest(client, name) if image['builds']
            else imageproblems.findProblem(client, layouts, name))
    return [image for _, image in sorted(images.items())]


def _readDeletion(client, artifact):
    if artifact['_state'] != 'deleting':
        return None
    sent = imageevents.read(client, EventKind.DELETE, artifact['uuid'])
    return sent and {'tenant': sent.tenant_name, 'attempt': sent.attempt,
                     'problem': sent.problem}


def getConnection(endpoint_name):
    """:return: the name of the connection of an endpoint."""
    return urllib.parse.unquote_plus(endpoint_name.partition('/')[0])


def _getVanished(upload, connections):
    """:return: the remark about an upload whose connection was removed; None
        if the connection exists."""
    name = getConnection(upload['endpoint_name'])
    if name in connections:
        return None
    return (f'zuul.conf no longer has the connection {name}; "zuul-nodes '
            f'images forget {upload["artifact_uuid"][:8]} --endpoint '
            f'{upload["endpoint_name"]}" removes the record')


def findImage(images, name):
    """
    :param list images: from :func:`readImages`.
    :param str name: the name of an image; its canonical name if several
        images have the same name.
    :raises UserError: no image has that name, or several have.
    """
    found = [image for image in images
             if name in (image['name'], getName(image))]
    if len(found) == 1:
        return found[0]
    if found:
        names = ', '.join(map(getName, found))
        raise UserError(f'several images are called "{name}": {names}. '
                        f'Use one of these names')
    known = {image['name'] for image in images}
    raise UserError(f'there is no image "{name}". {suggest(name, known)}')


def findBuild(images, build_id):
    """
    :param list images: from :func:`readImages`.
    :param str build_id: the id of a build, or the beginning of the id.
    :raises UserError: no build has that id, or several have.
    """
    found = [build for image in images for build in image['builds']
             if build['uuid'].startswith(build_id)]
    if len(build_id) < SHORTEST_ID or len(found) > 1:
        raise UserError(f'the build id "{build_id}" is ambiguous. Give more '
                        f'of it')
    if not found:
        raise UserError(f'there is no build "{build_id}" of an image. '
                        f'"zuul-nodes images" shows the ids')
    return found[0]


def getName(record):
    """:return: the canonical name, unquoted for people."""
    return urllib.parse.unquote_plus(record['canonical_name'])


def isInService(build, upload):
    """:return: whether nodes may be launched from an upload."""
    return bool(build['_state'] == 'ready' and upload['_state'] == 'ready'
                and upload['validated'] and upload['external_id'])


def getLastInService(images, build, endpoint_name=None):
    """
    :param endpoint_name: consider only this endpoint; None for all.
    :return: a sorted list of the endpoints at which the build is the only
        build of its image in service.
    """
    def getEndpoints(each):
        return {upload['endpoint_name'] for upload in each['uploads']
                if isInService(each, upload)}
    others = set()
    for image in images:
        for each in image['builds']:
            if (each['canonical_name'] == build['canonical_name']
                    and each['uuid'] != build['uuid']):
                others |= getEndpoints(each)
    return sorted(
        name for name in getEndpoints(build) - others
        if endpoint_name in (None, name))


def _makeImage(canonical_name, name):
    return {'canonical_name': canonical_name, 'name': name, 'tenants': [],
            'paused': None, 'problem': None, 'undelivered': {},
            'builders': [], 'denied': [], 'builds': []}


def readLayouts(client):
    """:return: tenant -> :class:`.imagelayouts.ImageLayout`, for all tenants.
    """
    layouts = {}
    for tenant_name in sorted(zkrecords.getNames(client, LAYOUTS)):
        with contextlib.suppress(NoNodeError):
            data, _ = client.get(imagelayouts.getPath(tenant_name))
            if layout := imagelayouts.parse(data):
                layouts[tenant_name] = layout
    return layouts
