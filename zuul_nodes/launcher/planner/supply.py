"""Processes changes in what providers can launch."""

import collections
from collections.abc import Callable, Iterable
import logging
import time

from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.workers import WorkQueue, getBackoff


class Supply:
    """Processes changes in what providers can launch.

    :param planner: plans with the changes.
    :param queue: the work queue, in which the end of a pause has a key.
    :param tellRoom: called when there may be capacity for min-ready nodes.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, planner: Planner, queue: WorkQueue,
                 tellRoom: Callable[[], object]) -> None:
        self.planner = planner
        self.queue = queue
        self.tellRoom = tellRoom
        # Provider -> number of failures in a row.
        self._failures: collections.Counter[str] = collections.Counter()

    def tellLimits(self, names: Iterable[str] | None = None) -> None:
        """As :meth:`.Planner.limitsChanged`."""
        if self.planner.limitsChanged(names):
            self.tellRoom()

    def tellImages(self) -> None:
        """As :meth:`.Planner.imagesChanged`."""
        self.planner.imagesChanged()
        self.tellRoom()

    def pause(self, name: str, reason: str, for_room: bool = False) -> None:
        """Pause a provider, longer after each failure.

        :param for_room: as in :meth:`.planner.Planner.pause`.
        """
        pause = getBackoff(self._failures[name], first=1, longest=300)
        if not self.planner.pause(
                name, time.monotonic() + pause, reason, for_room):
            # Launches that started together fail together, and count once.
            return
        self._failures[name] += 1
        self.log.info('Provider %s is paused for %.1f seconds: %s',
                      name, pause, reason)
        self.queue.addAfter(('provider', name), pause)

    def noteSuccess(self, name: str) -> None:
        """Note a successful launch: the next pause of the provider is short.
        """
        self._failures.pop(name, None)

    def reconcile(self, name: str) -> None:
        """End the pause of a provider, if it is over."""
        if left := self.planner.getPause(name):
            # This is the end of an earlier pause.
            self.queue.addAfter(('provider', name), left)
            return
        self.planner.resume(name)
        self.tellRoom()
