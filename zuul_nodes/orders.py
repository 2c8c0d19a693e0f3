"""Records of what operators have ordered, which launchers carry out.

A command must not change the record of a request or of a node, as a launcher
may be about to change it.  The command writes an order instead.  The launcher
that handles the request or the node obeys and removes the order.
"""

import enum
import json
import time

from kazoo.client import KazooClient

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/orders'
# Maximum length of a reason in characters.
LENGTH = 500


class Order(enum.StrEnum):
    # End a request as failed.
    CANCEL = 'cancel-request'
    # Remove the record of a node without asking its cloud.
    REMOVE = 'remove-node'


def add(client: KazooClient, order: Order, uuid: str,
        reason: str | None = None) -> None:
    """Write an order, or write it again.

    :param uuid: of the request or the node.
    :param reason: one line for people, or None.
    """
    zkrecords.write(client, getPath(order, uuid), json.dumps({
        'reason': (reason or '')[:LENGTH], 'time': time.time()}).encode())


def parse(data: bytes) -> str:
    """:return: the reason in a record; empty if there is none."""
    try:
        reason: str = json.loads(data)['reason']
    except (ValueError, LookupError, TypeError):
        return ''
    return reason


def getPath(order: Order, uuid: str) -> str:
    return zkrecords.getPath(ROOT, order, uuid)
