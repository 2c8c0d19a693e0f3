"""What zuul-nodes adds to the records of nodes.

Zuul's records lack part of what a node was made of, and the tenant that it was
made for.  A Zuul without the plugin reads a record with the additions like any
other.  If it writes the record, the additions are lost.
"""

from collections.abc import Mapping
from typing import Any

# The attribute of a node, and the key in its record.
NOTES = 'zuul_nodes'
# Begins what a node was made of.  Another release may say it in another way,
# which is as if it were unknown.
VERSION = '1:'


def get(node: Any) -> Mapping[str, str]:
    """
    :param node: a ProviderNode, or its record as a dict.
    :return: a dict of the additions.
    """
    notes = (node.get(NOTES) if isinstance(node, dict)
             else getattr(node, NOTES, None))
    return notes if isinstance(notes, dict) else {}


def make(made_of: str, tenant_name: str | None) -> dict[str, dict[str, str]]:
    """
    :param made_of: as of :class:`.identity.Identity`.
    :param tenant_name: for which the node is made, or None.
    :return: the attributes of a new node.
    """
    return {NOTES: {'made_of': VERSION + made_of} | (
        {'tenant': tenant_name} if tenant_name else {})}


def getMadeOf(node: Any) -> str | None:
    """:return: what is recorded of what a node was made of, or None."""
    made_of = _getText(node, 'made_of')
    return (made_of.removeprefix(VERSION)
            if made_of and made_of.startswith(VERSION) else None)


def getTenant(node: Any) -> str | None:
    """:return: the name of the tenant that a node was made for, or None."""
    return _getText(node, 'tenant')


def _getText(node: Any, key: str) -> str | None:
    value = get(node).get(key)
    return value if isinstance(value, str) else None
