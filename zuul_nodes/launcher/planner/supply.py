"""Processes changes in what providers can launch."""

import collections
from collections.abc import Callable, Iterable
import logging
import threading
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.capacity import hasLaunched
from zuul_nodes.launcher.planner.capacityerrors import CapacityErrors
from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.providers import Failure, Subject, getSubjectOf
from zuul_nodes.launcher.workers import Backoff, WorkQueue


class Supply:
    """Processes changes in what providers can launch.

    :param planner: plans with the changes.
    :param queue: the work queue, in which the end of a pause has a key.
    :param backoff: of the providers.
    :param capacityChanged: called when there may be capacity for min-ready
        nodes.
    :param capacity_errors: of labels at providers.
    :param noteChange: called after each change.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, planner: Planner, queue: WorkQueue, backoff: Backoff,
                 capacityChanged: Callable[[], object],
                 capacity_errors: CapacityErrors,
                 noteChange: Callable[[], object] = lambda: None) -> None:
        self.planner = planner
        self.queue = queue
        self.backoff = backoff
        self.capacityChanged = capacityChanged
        self.capacity_errors = capacity_errors
        self.noteChange = noteChange
        # Provider -> labels with a temporary failure since the last success.
        self._unreachable: dict[Subject, set[Subject]] = (
            collections.defaultdict(set))
        self._lock = threading.Lock()

    def noteLimits(self, names: Iterable[str] | None = None) -> None:
        """As :meth:`.Planner.limitsChanged`."""
        if self.planner.limitsChanged(names):
            self.capacityChanged()
            self.noteChange()

    def noteImages(self) -> None:
        """As :meth:`.Planner.imagesChanged`."""
        self.planner.imagesChanged()
        self.capacityChanged()

    def noteFailure(self, subject: Subject, failure: Failure,
                    reason: str) -> None:
        """Pause what a failed launch shows to be wrong, longer after each
        failure.

        A lack of quota concerns all labels of the provider, a lack of capacity
        the label alone.  Of a temporary failure, the cause is unknown: it is
        the label's until a second label of the provider fails, too.  During
        the pause of a label that lacks capacity for too long, requests do not
        wait for it.

        :param subject: the label of the node that was not launched.
        """
        if failure is Failure.QUOTA:
            subject = subject.whole
        elif failure is not Failure.CAPACITY:
            labels = self._unreachable[subject.whole]
            labels.add(subject)
            if len(labels) > 1:
                subject = subject.whole
        self._pause(subject, reason, failure)

    def _pause(self, subject: Subject, reason: str,
               failure: Failure) -> None:
        with self._lock:
            if self.planner.getPause(subject):
                # Launches that started together fail together, and count
                # once.
                return
            pause = self.backoff.noteFailure(subject)
            self.planner.pause(
                subject, time.monotonic() + pause, reason, failure)
            if failure is Failure.CAPACITY:
                self._noteCapacityError(subject, pause, reason)
        self.log.info('Pausing %s for %.1f seconds: %s',
                      subject, pause, reason)
        self.queue.addAfter(('provider', subject), pause)
        self.noteChange()

    def _noteCapacityError(self, subject: Subject, pause: float,
                           reason: str) -> None:
        row = self.capacity_errors.note(subject, pause)
        if row is None:
            return
        if self.planner.hasLaunched(subject):
            # The capacity is in use, and comes back.
            self.capacity_errors.clear(subject)
            return
        self.planner.refuse(subject, (
            f'{row.errors} launches in a row, over {row.seconds:.0f} seconds '
            f'(capacity_timeout), have found no capacity: {reason}'))

    def noteSuccess(self, subject: Subject) -> None:
        """Note a successful launch: the next pause of the provider and of the
        label is short.

        :param subject: the label of the node.
        """
        for each in subject.whole, subject:
            self.backoff.clear(each)
        self._unreachable.pop(subject.whole, None)
        self._noteCapacity(subject)

    def noteRemoval(self, node: ProviderNode) -> None:
        """:param node: that is gone, in its last known state."""
        if hasLaunched(node):
            self._noteCapacity(getSubjectOf(
                self.planner.scope.identify(node)))

    def _noteCapacity(self, subject: Subject) -> None:
        self.capacity_errors.clear(subject)
        self.planner.admit(subject)

    def reconcile(self, subject: Subject) -> None:
        """End the pause of a provider or of a label, if it is over."""
        if left := self.planner.getPause(subject):
            # This is the end of an earlier pause.
            self.queue.addAfter(('provider', subject), left)
            return
        # Whether there is capacity now, only an attempt can tell.
        self.planner.admit(subject)
        self.planner.resume(subject)
        self.capacityChanged()
        self.noteChange()
