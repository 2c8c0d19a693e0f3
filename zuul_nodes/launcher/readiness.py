"""Watches whether a launcher makes progress.

A launcher whose threads hang still has its session, so it would keep its share
of the nodes and requests.  If another launcher can take over, such a launcher
says in the component registry that it does not run, and leaves the planning to
others, until it makes progress again.
"""

from collections.abc import Callable
import logging
import threading
import time

from zuul.zk.components import LauncherComponent

from zuul_nodes.launcher.election import Election
from zuul_nodes.launcher.planner import Planner
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers import EndpointPools, WorkQueue


class Readiness:
    """Watches whether a launcher makes progress.

    It stands in for the component in Zuul's monitoring server.

    :param component: of this launcher.
    :param election: knows whether another launcher can take over.
    :param queue: the work queue.
    :param planner: plans the requests.
    :param pools: the threads of all endpoints.
    :param settings: of the launcher.
    :param clock: returns seconds.
    """

    log = logging.getLogger('zuul.nodes.launcher')
    RUNNING = LauncherComponent.RUNNING
    PAUSED = LauncherComponent.PAUSED
    # A state that Zuul's components do not have.
    STALLED = 'stalled'

    def __init__(self, component: LauncherComponent, election: Election,
                 queue: WorkQueue, planner: Planner, pools: EndpointPools,
                 settings: Settings,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.component = component
        self.election = election
        self.queue = queue
        self.planner = planner
        self.pools = pools
        self.timeout = settings.stall_timeout
        self.interval = settings.stall_interval
        self.clock = clock
        # When progress was impossible the last time, and the last check.
        self._impossible = self._checked = clock()
        self._has_left = False
        self._stop_event = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name='LauncherReadiness', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Stop the checks.

        :param timeout: seconds to wait for one that is running.
        """
        self._stop_event.set()
        if self._thread.ident:
            self._thread.join(timeout)

    @property
    def state(self) -> str:
        """:return: the state of the component, or :attr:`STALLED`."""
        if self.findStall() or self.pools.hasExhausted():
            return self.STALLED
        return self.component.state

    def findStall(self) -> str | None:
        """:return: what does not end, for the log; None if nothing hangs."""
        possible = self.clock() - self._impossible
        for seconds, what in (
                (self.queue.getLongest(), 'a worker'),
                (self.planner.getSeconds(), 'the planner')):
            if min(seconds, possible) > self.timeout:
                return f'{what} has been busy for {seconds:.0f} seconds'
        return None

    def check(self) -> None:
        """Give the launcher's share to others if it makes no progress, or take
        it back."""
        now = self.clock()
        # This process may have been suspended.
        if not self.component.client.connected or (
                now - self._checked > self.timeout / 2):
            self._impossible = now
        self._checked = now
        stall = self.findStall()
        if stall and not self._has_left:
            self._leave(stall)
        elif self._has_left and not stall:
            self.component.state = self.component.RUNNING
            self.election.enter()
            self._has_left = False
            self.log.info('This launcher makes progress again')

    def _leave(self, stall: str) -> None:
        if (self.component.state != self.component.RUNNING
                or not self.election.ownership.hasSubstitute()):
            return
        self.log.error('Leaving the work to other launchers: %s', stall)
        self.component.state = self.component.PAUSED
        self.election.leave()
        self._has_left = True

    def _run(self) -> None:
        while not self._stop_event.wait(self.interval):
            try:
                self.check()
            except Exception:
                self.log.exception('Unable to check the progress:')
