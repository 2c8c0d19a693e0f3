"""Which launchers have withdrawn from which endpoints.

A launcher withdraws from an endpoint whose cloud refuses its log-in.  It says
so in its record in Zuul's registry of components, which ends with its session.
Launchers of Zuul ignore the attribute.
"""

from collections.abc import Mapping
import time
from typing import TYPE_CHECKING, Any, NamedTuple
import urllib.parse

from zuul_nodes import messages

if TYPE_CHECKING:
    # Commands begin sooner without these.
    from zuul.model import ProviderNode
    from zuul.zk.components import BaseComponent

# Of the record of a component.
ATTRIBUTE = 'withdrawn'


class Withdrawal(NamedTuple):
    """
    :ivar since: seconds since the epoch.
    :ivar reason: for people.
    """
    since: int
    reason: str


def make(reason: str) -> Withdrawal:
    return Withdrawal(int(time.time()), messages.shorten(reason))


def note(component: 'BaseComponent',
         withdrawals: Mapping[str, Withdrawal]) -> None:
    """Set the withdrawals of a launcher, for the next time when its record is
    written.

    :param component: of this launcher.
    :param withdrawals: canonical name of an endpoint -> withdrawal.
    """
    component.content[ATTRIBUTE] = {
        name: each._asdict() for name, each in withdrawals.items()}


def write(component: 'BaseComponent') -> None:
    """Write the record of this launcher."""
    setattr(component, ATTRIBUTE, component.content[ATTRIBUTE])


def read(content: Mapping[str, Any]) -> dict[str, Withdrawal]:
    """
    :param content: of the record of a launcher.
    :return: canonical name of an endpoint -> withdrawal.
    """
    return {name: Withdrawal(**each)
            for name, each in content.get(ATTRIBUTE, {}).items()}


def isKnown(content: Mapping[str, Any]) -> bool:
    """
    :param content: of the record of a launcher.
    :return: whether the launcher is one of zuul-nodes, not one of Zuul's.
    """
    return ATTRIBUTE in content


def hasWithdrawn(content: Mapping[str, Any],
                 endpoint_name: str) -> bool | None:
    """
    :param content: of the record of a launcher.
    :param endpoint_name: its canonical name.
    :return: whether the launcher has withdrawn from an endpoint; None if it
        does not know of withdrawals, as those of Zuul.
    """
    record = content.get(ATTRIBUTE)
    return None if record is None else endpoint_name in record


def getEndpointName(node: 'ProviderNode') -> str:
    """:return: the canonical name of a node's endpoint, as Zuul makes it."""
    return '/'.join(urllib.parse.quote_plus(name or '') for name in (
        node.connection_name, node.endpoint_name))
