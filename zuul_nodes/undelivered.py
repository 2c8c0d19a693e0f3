"""Records of the image formats that a tenant's builds fail to deliver.

A scheduler writes such a record when all builds of an image succeeded and one
of the needed formats is missing, because another build would not deliver it
either.  Launchers request no more builds of that tenant until its layout
changes.
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
    :ivar set formats: the needed formats that the builds lack.
    """
    layout_uuid: str
    formats: set


def write(client, name, tenant_name, undelivered):
    """
    :param KazooClient client:
    :param str name: canonical name of an image.
    :param str tenant_name: the tenant that built it.
    :param Undelivered undelivered: the content of the record.  Without
        formats, the record is deleted.
    """
    path = _getPath(name, tenant_name)
    if not undelivered.formats:
        zkrecords.delete(client, path)
        return
    data = json.dumps({
        'layout': undelivered.layout_uuid,
        'formats': sorted(undelivered.formats)}).encode()
    # A launcher may be deleting the records of the image.
    with contextlib.suppress(NodeExistsError, NoNodeError):
        zkrecords.write(client, path, data)


def read(client, name):
    """:return: a dict: tenant -> :class:`Undelivered`, for one image."""
    found = {}
    for tenant_name in zkrecords.getNames(client, _getPath(name)):
        if data := zkrecords.read(client, _getPath(name, tenant_name)):
            record = json.loads(data)
            found[tenant_name] = Undelivered(
                record['layout'], set(record['formats']))
    return found


def forget(client, name):
    """Delete the records of an image that is no longer missing."""
    with contextlib.suppress(NoNodeError, NotEmptyError):
        client.delete(_getPath(name), recursive=True)


def _getPath(*names):
    return zkrecords.getPath(ROOT, *names)
