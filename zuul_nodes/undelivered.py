"""In which wanted formats the jobs of a tenant do not build an image.

A scheduler writes that down when all builds of images were successful and
one of the formats is not there: the next build would be no better.  So
launchers ask that tenant no more until it has another layout.
"""

import contextlib
import json
import typing

from kazoo.exceptions import NodeExistsError, NoNodeError, NotEmptyError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/undelivered-formats'


class Undelivered(typing.NamedTuple):
    """
    :ivar str layout_uuid: of the tenant's layout at that time.
    :ivar set formats: those that are wanted and that its builds lack.
    """
    layout_uuid: str
    formats: set


def write(client, name, tenant_name, undelivered):
    """
    :param KazooClient client:
    :param str name: of an image, canonical.
    :param str tenant_name: that has built it.
    :param Undelivered undelivered: of it; if no format is, there is nothing
        to say any more.
    """
    path = _getPath(name, tenant_name)
    if not undelivered.formats:
        zkrecords.delete(client, path)
        return
    data = json.dumps({
        'layout': undelivered.layout_uuid,
        'formats': sorted(undelivered.formats)}).encode()
    # A launcher may be about to forget what there was.
    with contextlib.suppress(NodeExistsError, NoNodeError):
        zkrecords.write(client, path, data)


def read(client, name):
    """:return: tenant -> :class:`Undelivered`, of an image; a dict."""
    found = {}
    for tenant_name in zkrecords.getNames(client, _getPath(name)):
        if data := zkrecords.read(client, _getPath(name, tenant_name)):
            record = json.loads(data)
            found[tenant_name] = Undelivered(
                record['layout'], set(record['formats']))
    return found


def getNames(client):
    """:return: a set of the canonical names of images."""
    return zkrecords.getNames(client, ROOT)


def forget(client, name):
    """The image is missing no more."""
    with contextlib.suppress(NoNodeError, NotEmptyError):
        client.delete(_getPath(name), recursive=True)


def _getPath(*names):
    return zkrecords.getPath(ROOT, *names)
