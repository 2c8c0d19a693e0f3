"""What has changed since waiting requests were tried the last time.

All parts of the planner write here.  The planner then tries, in one pass in
the order of their ranks, the requests that a change can help.
"""

import collections
import copy
from typing import TYPE_CHECKING

from zuul_nodes.launcher.planner.limits import Key

if TYPE_CHECKING:
    from zuul_nodes.launcher.planner.requestqueue import Line


class News:
    """
    :ivar providers: names of those that may have a node, or launch one, for
        any request.
    :ivar keys: of which there is more than when a request lacked it.
    :ivar lines: line -> names of the providers that may have room for its
        first request now.
    """

    def __init__(self) -> None:
        self.providers: set[str] = set()
        self.keys: set[Key] = set()
        self.lines: dict[Line, set[str]] = collections.defaultdict(set)

    def __bool__(self) -> bool:
        return bool(self.providers or self.keys or self.lines)

    def take(self) -> 'News':
        """:return: all that is new; from now on, nothing is."""
        taken = copy.copy(self)
        self.providers, self.keys = set(), set()
        self.lines = collections.defaultdict(set)
        return taken
