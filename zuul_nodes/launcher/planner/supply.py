"""What providers can make, as it changes."""

import collections
from collections.abc import Callable, Iterable
import logging
import time

from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.workers import WorkQueue, getPause


class Supply:
    """
    :param planner: that plans with it.
    :param queue: where the end of a pause is looked at.
    :param tellRoom: called when there may be room for nodes that nobody has
        asked for.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, planner: Planner, queue: WorkQueue,
                 tellRoom: Callable[[], object]) -> None:
        self.planner = planner
        self.queue = queue
        self.tellRoom = tellRoom
        # Provider -> how often it has failed, one time after the other.
        self._failures: collections.Counter[str] = collections.Counter()

    def tellLimits(self, names: Iterable[str] | None = None) -> None:
        """As :meth:`.Planner.limitsChanged`."""
        self.planner.limitsChanged(names)
        self.tellRoom()

    def pause(self, name: str, reason: str, for_room: bool = False) -> None:
        """No new nodes from a provider for some time, more each time.

        :param for_room: as of :meth:`.planner.Planner.pause`.
        """
        pause = getPause(self._failures[name], first=1, longest=300)
        if not self.planner.pause(
                name, time.monotonic() + pause, reason, for_room):
            # What was begun together has failed together.
            return
        self._failures[name] += 1
        self.log.info('Provider %s is paused for %.1f seconds: %s',
                      name, pause, reason)
        self.queue.addAfter(('provider', name), pause)

    def noteSuccess(self, name: str) -> None:
        """A provider has made a node: its next pause is a short one."""
        self._failures.pop(name, None)

    def reconcile(self, name: str) -> None:
        """The pause of a provider may be over."""
        if left := self.planner.getPause(name):
            # This was the time of a pause that ended before it.
            self.queue.addAfter(('provider', name), left)
            return
        self.planner.resume(name)
        self.tellRoom()
