"""Which nodes launchers have made of an upload that is to be validated.

A job that succeeds says something about an upload only if it had a node of
that upload.  The record of a node is gone by the time that its job is
reported, so a launcher writes down what it makes the node of before that.
"""

import contextlib

from kazoo.exceptions import NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/upload-boots'


def add(client, upload_id, node_ids):
    """
    :param KazooClient client:
    :param str upload_id:
    :param node_ids: those of the node, and of slots that it has.
    """
    for node_id in node_ids:
        # A launcher may have died right after it.
        with contextlib.suppress(NodeExistsError):
            client.create(f'{ROOT}/{upload_id}/{node_id}', makepath=True)


def find(client, upload_id):
    """:return: a set of the ids of nodes."""
    return set(zkrecords.getChildren(client, f'{ROOT}/{upload_id}'))


def getUploads(client):
    """:return: a set of the ids of uploads that nodes were made of."""
    return set(zkrecords.getChildren(client, ROOT))


def forget(client, upload_id):
    with contextlib.suppress(NoNodeError):
        client.delete(f'{ROOT}/{upload_id}', recursive=True)
