"""Records of what operators have ordered, which launchers carry out.

A command must not change the record of a request or of a node, as a launcher
may be about to change it.  The command writes an order instead.  The launcher
that handles the request or the node obeys and removes the order.
"""

import enum
import getpass
import json
import socket
import time
from typing import Any
import uuid

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
    # Write a line to the audit log: commands have none.
    NOTE = 'note'


# What a line of the audit log may have of a command.
NOTED = ('action', 'artifact', 'endpoint', 'image', 'node', 'provider',
         'reason', 'request', 'upload', 'user')


def add(client: KazooClient, order: Order, uuid: str,
        reason: str | None = None) -> None:
    """Write an order, or write it again.

    :param uuid: of the request or the node.
    :param reason: one line for people, or None.
    """
    _write(client, order, uuid, {'reason': (reason or '')[:LENGTH]})


def note(client: KazooClient, action: str, **fields: str | None) -> None:
    """Have the launcher that plans write a line to the audit log.

    To be called before the change.

    :param action: the command, such as "nodes hold".
    :param fields: what it changes, by names of :data:`NOTED`.
    """
    _write(client, Order.NOTE, uuid.uuid4().hex, {
        'fields': {'action': action, 'user': _getUser(), **fields}})


def parse(data: bytes) -> dict[str, Any]:
    """:return: the content of an order; empty if it is not readable."""
    try:
        content = json.loads(data)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def getReason(content: dict[str, Any]) -> str:
    """:return: the reason of an order; empty if there is none."""
    return str(content.get('reason') or '')[:LENGTH]


def getFields(content: dict[str, Any]) -> dict[str, str]:
    """:return: the fields of a note."""
    fields = content.get('fields')
    return {name: str(fields[name]) for name in NOTED
            if isinstance(fields, dict) and fields.get(name)}


def getPath(order: Order, uuid: str) -> str:
    return zkrecords.getPath(ROOT, order, uuid)


def _write(client: KazooClient, order: Order, uuid: str,
           content: dict[str, Any]) -> None:
    zkrecords.write(client, getPath(order, uuid), json.dumps(
        {'time': time.time(), **content}).encode())


def _getUser() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        # A container may run with a number that has no name.
        name = 'unknown'
    return f'{name}@{socket.gethostname()}'
