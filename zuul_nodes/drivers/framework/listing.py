"""A list of instances or other resources, shared by all nodes that wait for
the cloud."""

import logging
import threading
import time
from typing import Generic, TypeVar

from zuul_nodes.drivers.framework.calls import Calls

Thing = TypeVar('Thing')


class Listing(Generic[Thing]):
    """Calls a method of an adapter that lists resources, and keeps the list.

    :param calls: of the adapter.
    :param interval: minimum number of seconds between two lists.
    :param name: of the adapter's method.
    :ivar failure_timeout: seconds for which lists may fail before the error is
        raised for the waiting nodes.
    :ivar appearance_timeout: seconds until a list has to contain an instance
        that the cloud has accepted.
    """

    failure_timeout: float = 60
    appearance_timeout: float = 120
    log = logging.getLogger('zuul.nodes.drivers')

    def __init__(self, calls: Calls, interval: float, name: str) -> None:
        self.calls = calls
        self.interval = interval
        self.name = name
        self._lock = threading.Lock()
        self._instances: list[Thing] = []
        # By the monotonic clock: when the current list was requested, when the
        # last attempt began, and when the first of the failed attempts began.
        self._begun = self._tried = -interval
        self._failing: float | None = None

    def get(self, since: float) -> list[Thing] | None:
        """
        :param since: a time by the monotonic clock.
        :return: all instances, from a list that was requested at that time or
            later; None if there is none yet.
        :raises Exception: the cloud has not returned lists for too long.
        """
        if time.monotonic() >= self._tried + self.interval:
            self._renew()
        with self._lock:
            return self._instances if self._begun >= since else None

    def getNow(self) -> list[Thing]:
        """
        :return: the current instances; waits for the cloud.
        """
        begun = time.monotonic()
        return self._keep(begun, self.calls.call(self.name))

    def _renew(self) -> None:
        task = self.calls.perform('', self.name)
        if task is None:
            # The call is running: use the last list meanwhile.
            return
        self._tried = task.begun
        try:
            self._keep(task.begun, task.result())
            self._failing = None
        except Exception as error:
            self._failing = self._failing or task.begun
            if task.begun > self._failing + self.failure_timeout:
                raise
            self.log.warning('Unable to call %s of %s: %s', self.name,
                             self.calls.endpoint.canonical_name, error)

    def _keep(self, begun: float, instances: list[Thing]) -> list[Thing]:
        with self._lock:
            if begun > self._begun:
                self._begun = begun
                self._instances = instances
        return instances
