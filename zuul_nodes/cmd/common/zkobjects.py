"""Reads the records of Zuul's objects without Zuul's classes.

Classes of nodes belong to drivers, which a command does not load.  The data of
a record is JSON, compressed, after a prefix that names the class.
"""

import contextlib
import json
import zlib

from kazoo.exceptions import NoNodeError

from zuul_nodes import zkrecords
from zuul_nodes.exceptions import UserError

# Minimum length of an abbreviated uuid.
SHORTEST_ID = 4
# How many answers of ZooKeeper are awaited at the same time.
BATCH = 1000


def readAll(client, root, parts=()):
    """:return: as :func:`read`, of all records below a path."""
    return read(client, root, zkrecords.getChildren(client, root), parts)


def read(client, root, names, parts=()):
    """Read records.

    :param KazooClient client: may be read-only.
    :param root: the path below which they are.
    :param names: of the records, a list.
    :param parts: names of nodes below each record, whose data becomes part of
        the record's.
    :return: a list of dicts, the data of the records with their ``uuid``;
        without those that are not readable.
    """
    found = []
    for start in range(0, len(names), BATCH):
        asked = [(name, [client.get_async('/'.join((root, name, *part)))
                         for part in ((), *((part,) for part in parts))])
                 for name in names[start:start + BATCH]]
        for name, answers in asked:
            data = [_getData(answer) for answer in answers]
            # It may have been deleted since its name was read.
            if data[0] is not None:
                found.append({'uuid': name} | {
                    key: value for each in data if each is not None
                    for key, value in each.items()})
    return found


def find(records, uuid, what):
    """
    :param records: as of :func:`readAll`.
    :param uuid: of one of them, or how it begins.
    :param what: the kind of the records, for messages.
    :return: the record.
    :raises UserError: there is none, or there are several.
    """
    found = [each for each in records if each['uuid'].startswith(uuid)]
    if len(uuid) < SHORTEST_ID:
        raise UserError(f'"{uuid}" is too short for the id of a {what}: name '
                        f'at least {SHORTEST_ID} characters')
    if not found:
        raise UserError(f'there is no {what} whose id begins with "{uuid}"')
    if len(found) > 1:
        raise UserError(f'the ids of {len(found)} {what}s begin with "{uuid}"')
    return found[0]


def compress(data):
    """:return: the content of a record that has no class, bytes."""
    return zlib.compress(json.dumps(data, sort_keys=True).encode())


def _getData(answer):
    """:return: a dict; None if the node is gone or not readable."""
    try:
        raw, _ = answer.get()
    except NoNodeError:
        return None
    # The name of a class ends with a zero.
    for compressed in (raw, raw.partition(b'\0')[2]):
        with contextlib.suppress(ValueError, zlib.error):
            data = json.loads(zlib.decompress(compressed))
            return data if isinstance(data, dict) else None
    # Launchers report unreadable records.
    return None
