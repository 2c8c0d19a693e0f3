"""Records of what only the launcher that plans knows about providers.

There is a record for each provider, by its canonical name: the limits that
hold now, what others than Zuul use of them, and what is paused and why.
Commands of the operator read them.  Tenants do not: a record names what other
tenants share.
"""

from collections.abc import Iterable
import json
import time
from typing import Any, NamedTuple
import zlib

from kazoo.client import KazooClient

from zuul_nodes import messages, zkrecords

ROOT = '/zuul/zuul-nodes/provider-status'


class Limit(NamedTuple):
    """
    :ivar kind: what has the limit: ``provider``, ``section`` or ``endpoint``.
    :ivar name: of that.
    :ivar resource: what is limited.
    :ivar limit: how much there may be.
    :ivar foreign: how much of the limit others than Zuul use.
    :ivar reserved: how much is kept for requests that wait for more.
    """
    kind: str
    name: str | None
    resource: str
    limit: float
    foreign: float = 0
    reserved: float = 0


class Paused(NamedTuple):
    """
    :ivar label: name of the label that is paused; None for all of the
        provider's.
    :ivar left: seconds until the pause ends at the latest.
    :ivar reason: for people.
    """
    label: str | None
    left: float
    reason: str


class Status(NamedTuple):
    """
    :ivar endpoint: name of the endpoint; None if the driver cannot say it.
    :ivar section: canonical name of the section, or None.
    :ivar limits: of all accounts in which the provider's nodes count.
    :ivar pauses: of the provider and its labels.
    :ivar problem: why the provider launches no nodes, or why its limits are
        unknown; None if there is no problem.
    """
    endpoint: str | None
    section: str | None
    limits: Iterable[Limit]
    pauses: Iterable[Paused]
    problem: str | None


def makeRecord(status: Status) -> bytes:
    """:return: the content of the record of a provider."""
    now = time.time()
    return zlib.compress(json.dumps(status._asdict() | {
        'limits': [each._asdict() for each in status.limits],
        'pauses': [{
            'label': each.label,
            # Whole seconds, so that the record of a pause does not change.
            'until': round(now + each.left),
            'reason': messages.shorten(each.reason),
        } for each in status.pauses],
        'problem': status.problem and messages.shorten(status.problem),
    }).encode())


def read(client: KazooClient, canonical_name: str) -> dict[str, Any] | None:
    """
    :return: a dict with the attributes of a :class:`Status`; those in it are
        dicts, too.  Pauses have ``until``, seconds since the epoch, and those
        that have ended are left out.  None if there is no record.
    """
    data = zkrecords.read(client, zkrecords.getPath(ROOT, canonical_name))
    if data is None:
        return None
    status: dict[str, Any] = json.loads(zlib.decompress(data))
    now = time.time()
    status['pauses'] = [
        each for each in status['pauses'] if each['until'] > now]
    for limit in status['limits']:
        # Launchers of the previous release record nothing reserved.
        limit.setdefault('reserved', 0)
    return status


def getFree(limit: dict[str, Any], used: float) -> float:
    """
    :param limit: of a record.
    :param used: how much of it nodes of Zuul use.
    :return: what is left; more may be in use if the limit was lowered.
    """
    return max(0, limit['limit'] - used - limit['foreign']
               - limit['reserved'])
