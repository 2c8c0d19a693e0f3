"""What the planner has to know of the other parts of the launcher."""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Protocol
import uuid

from zuul.model import NodesetRequest
from zuul.provider import BaseProvider


class IsAsked(Protocol):

    def __call__(self, provider: BaseProvider,
                 label_name: str | None = None, /) -> bool:
        """:return: whether the cloud has returned the available information
            about a provider, and about a label."""


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """Functions that answer at once.

    :ivar canUse: tells for a request, a provider and the name of a label
        whether that provider can ever boot its image.  For requests with
        equal labels, tenant and images, the answer is the same.
    :ivar hasImage: tells for the same whether it can now.
    :ivar isHandled: tells for the name of a connection whether there is
        a launcher that makes nodes there.
    :ivar serves: tells for a provider whether this launcher asks its cloud.
        Other launchers ask those of other providers, and publish only the
        answers.
    :ivar isAsked: tells for a provider and a label whether the cloud has
        answered; None if that makes no difference.
    :ivar getProblem: tells for the same why the cloud has not answered; None
        if the reason is unknown.
    :ivar isGiven: tells for the name of a connection whether its nodes
        are existing machines.
    :ivar getTenantLimits: gives for the name of a tenant how much it may have
        at all providers, resource -> amount; always the same.
    :ivar makeNodeId: makes the uuid of a new node, as of
        :meth:`.Ownership.makeNodeId`.
    """
    canUse: Callable[[NodesetRequest, BaseProvider, str], bool] = (
        lambda *args: True)
    hasImage: Callable[[NodesetRequest, BaseProvider, str], bool] = (
        lambda *args: True)
    isHandled: Callable[[str], bool] = lambda name: True
    serves: Callable[[BaseProvider], bool] = lambda provider: True
    isAsked: IsAsked | None = None
    getProblem: Callable[[BaseProvider, str], str | None] = lambda *args: None
    isGiven: Callable[[str], bool] = lambda name: False
    getTenantLimits: Callable[[str], Mapping[str, float]] = lambda name: {}
    makeNodeId: Callable[[BaseProvider, Mapping[str, int]], str] = (
        lambda *args: uuid.uuid4().hex)
