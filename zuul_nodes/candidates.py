"""Records of the launchers that can plan, in the order in which they lead."""

import contextlib
import json
from typing import Any, NamedTuple

from kazoo.client import KazooClient

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/planner'
# Digits of the numbers that ZooKeeper appends to the names of records.
DIGITS = 10


class Candidate(NamedTuple):
    """
    :ivar number: the lowest of all leads.
    :ivar path: of the record, which is ephemeral.
    :ivar launcher: its name.
    :ivar is_embedded: whether it runs in a scheduler.
    """
    number: int
    path: str
    launcher: str
    is_embedded: bool


def create(client: KazooClient, name: str, launcher: str,
           is_embedded: bool) -> str:
    """Make a launcher the last of all candidates.

    :param name: with which the name of the record begins.
    :return: the path of the record.
    """
    path: str = client.create(
        f'{ROOT}/{name}-', json.dumps({
            'launcher': launcher, 'embedded': is_embedded}).encode(),
        ephemeral=True, sequence=True, makepath=True)
    return path


def parse(name: str, data: bytes) -> Candidate:
    """
    :param name: of a record.
    :param data: of the record.
    :raises ValueError, KeyError, TypeError: it is not readable.
    """
    content: dict[str, Any] = json.loads(data)
    return Candidate(int(name[-DIGITS:]), f'{ROOT}/{name}',
                     content['launcher'], content['embedded'])


def read(client: KazooClient) -> list[Candidate]:
    """:return: a list of the candidates with a readable record; the first
        one leads."""
    found = []
    for name in zkrecords.getChildren(client, ROOT):
        data = zkrecords.read(client, f'{ROOT}/{name}')
        if data is None:
            continue
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found.append(parse(name, data))
    return sorted(found)
