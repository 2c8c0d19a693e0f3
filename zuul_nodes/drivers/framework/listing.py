"""One list of instances, or of what else a cloud has, for all nodes that
wait for it."""

import logging
import threading
import time
from typing import Generic, TypeVar

from zuul_nodes.drivers.framework.calls import Calls

# Seconds for which a cloud may fail to list its instances, before that is
# a failure of the nodes that wait for it.
BLIND = 60
Thing = TypeVar('Thing')


class Listing(Generic[Thing]):
    """
    :param calls: to the adapter.
    :param interval: seconds between two lists, at least.
    :param name: of the adapter's method.
    """

    log = logging.getLogger('zuul.nodes.drivers')

    def __init__(self, calls: Calls, interval: float, name: str) -> None:
        self.calls = calls
        self.interval = interval
        self.name = name
        self._lock = threading.Lock()
        self._instances: list[Thing] = []
        # By the monotonic clock: when that list was asked for, when one
        # was asked for at all, and since when that has failed.
        self._begun = self._tried = -interval
        self._failing: float | None = None

    def get(self, since: float) -> list[Thing] | None:
        """
        :param since: a time by the monotonic clock.
        :return: all instances, as a list that was asked for at that time or
            later; or None if there is none yet.
        :raises Exception: the cloud gives no lists any more.
        """
        if time.monotonic() >= self._tried + self.interval:
            self._renew()
        with self._lock:
            return self._instances if self._begun >= since else None

    def getNow(self) -> list[Thing]:
        """
        :return: all instances as they are now; waits for the cloud.
        """
        begun = time.monotonic()
        return self._keep(begun, self.calls.call(self.name))

    def _renew(self) -> None:
        task = self.calls.perform('', self.name)
        if task is None:
            # Somebody else's, or in the background: what there is will do.
            return
        self._tried = task.begun
        try:
            self._keep(task.begun, task.getResult())
            self._failing = None
        except Exception as error:
            self._failing = self._failing or task.begun
            if task.begun > self._failing + BLIND:
                raise
            self.log.warning('Unable to call %s of %s: %s', self.name,
                             self.calls.endpoint.canonical_name, error)

    def _keep(self, begun: float, instances: list[Thing]) -> list[Thing]:
        with self._lock:
            if begun > self._begun:
                self._begun = begun
                self._instances = instances
        return instances
