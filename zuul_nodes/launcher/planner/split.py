"""Which nodes of a nodeset come from which provider, if none has all.

Each node is placed where it fits beside those before it; and elsewhere, if
there is no room for a later one then.
"""

import collections
from collections.abc import Collection, Mapping

from zuul.provider import BaseProvider

from zuul_nodes.launcher.planner.selection import Draft, Want

# Where there only just is no room, there are too many ways to try them all.
TRIES = 2000


class Step:
    """
    :param draft: of the nodes that have a place.
    :param providers: that may serve the next one.
    :param tried: those of them that are of no use.
    """

    def __init__(self, draft: Draft, providers: Collection[BaseProvider],
                 tried: frozenset[BaseProvider] = frozenset()) -> None:
        self.draft = draft
        self.left = collections.deque(
            provider for provider in draft.getOrder(providers)
            if provider not in tried)
        self.tried = tried


def findMix(
        draft: Draft,
        candidates: Mapping[Want, Collection[BaseProvider]]) -> Draft | None:
    """
    :param draft: that has no nodes.
    :param candidates: want -> a list of the providers that may serve
        it; those that are hard to place first, equal ones after each other.
    :return: a draft with a node for each want; None if there is none, or if
        it would take more than :data:`TRIES` to find one.
    """
    wants = [*candidates, None]
    path = [Step(draft, candidates[wants[0]] if wants[0] else ())]
    for _ in range(TRIES):
        step, want = path[-1], wants[len(path) - 1]
        if want is None:
            return step.draft
        if not step.left:
            path.pop()
            if not path:
                return None
            continue
        provider = step.left.popleft()
        draft, tried = step.draft.copy(), step.tried
        step.tried = tried | {provider}
        if draft.add(want, provider):
            following = wants[len(path)]
            # It makes no difference if two equal nodes change places.
            alike = following and following[1:] == want[1:]
            path.append(Step(draft, candidates[following] if following else (),
                             tried if alike else frozenset()))
    return None
