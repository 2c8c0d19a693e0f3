"""Records of the nodes that launchers boot from unvalidated uploads.

The success of a job validates an upload only if the job had a node of that
upload.  The record of the node is gone when the job is reported, so a launcher
writes a separate record before it launches the node.
"""

import contextlib

from kazoo.exceptions import NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/upload-boots'


def add(client, upload_id, node_ids):
    """
    :param KazooClient client:
    :param str upload_id:
    :param node_ids: the ids of the node and of its slots.
    """
    for node_id in node_ids:
        # A launcher may have died after writing the record.
        with contextlib.suppress(NodeExistsError):
            client.create(f'{ROOT}/{upload_id}/{node_id}', makepath=True)


def find(client, upload_id):
    """:return: a set of the ids of nodes booted from an upload."""
    return set(zkrecords.getChildren(client, f'{ROOT}/{upload_id}'))


def forget(client, upload_id):
    with contextlib.suppress(NoNodeError):
        client.delete(f'{ROOT}/{upload_id}', recursive=True)
