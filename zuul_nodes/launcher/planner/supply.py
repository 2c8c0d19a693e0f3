"""Processes changes in what providers can launch."""

import collections
from collections.abc import Callable, Iterable, Mapping
import logging
import threading
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.capacity import hasLaunched
from zuul_nodes.launcher.planner.lastingfailures import (
    LastingFailures,
    Row,
)
from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.providers import (
    Failure,
    Subject,
    getAttempts,
    getSubjectOf,
)
from zuul_nodes.launcher.workers import Backoff, WorkQueue

# What ends the waiting of requests, by the kind of the failures in a row.
REFUSALS = {
    Failure.CAPACITY: 'seconds (capacity_timeout), have found no capacity:',
    Failure.TEMPORARY: 'seconds (unreachable_timeout), have failed:',
}


class Supply:
    """Processes changes in what providers can launch.

    :param planner: plans with the changes.
    :param queue: the work queue, in which the end of a pause has a key.
    :param backoff: of the providers.
    :param capacityChanged: called when there may be capacity for min-ready
        nodes.
    :param timeouts: as of :class:`.LastingFailures`, of the kinds in
        :data:`REFUSALS`.
    :param capacity_errors: least number of launches in a row that find no
        capacity before their time-out applies.
    :param noteChange: called after each change.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, planner: Planner, queue: WorkQueue, backoff: Backoff,
                 capacityChanged: Callable[[], object],
                 timeouts: Mapping[Failure, float], capacity_errors: int,
                 noteChange: Callable[[], object] = lambda: None) -> None:
        self.planner = planner
        self.queue = queue
        self.backoff = backoff
        self.capacityChanged = capacityChanged
        self.capacity_errors = capacity_errors
        self.noteChange = noteChange
        self.lasting = LastingFailures(timeouts)
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
                    reason: str, seconds: float = 0.0) -> None:
        """Pause what a failed launch shows to be wrong, longer after each
        failure.

        A lack of quota concerns all labels of the provider, a lack of capacity
        the label alone.  Of a temporary failure, the cause is unknown: it is
        the label's until a second label of the provider fails, too.  After
        failures that last for too long, requests do not wait for the end of
        the pause, and try it once more at the most.

        :param subject: the label of the node that was not launched.
        :param seconds: that the launch took.
        """
        narrow, wide = subject, subject.whole
        if failure is Failure.QUOTA:
            subject = wide
        elif failure is not Failure.CAPACITY:
            failure = Failure.TEMPORARY
            labels = self._unreachable[wide]
            labels.add(narrow)
            if len(labels) > 1:
                subject = wide
        with self._lock:
            if failure is not Failure.TEMPORARY:
                # The cloud answers.
                self._clear(Failure.TEMPORARY, narrow, wide)
            if self.planner.getPause(subject):
                # Launches that started together fail together, and count
                # once.
                return
            pause = self.backoff.noteFailure(subject)
            self.planner.pause(
                subject, time.monotonic() + pause, reason, failure)
            if failure is Failure.TEMPORARY and subject is narrow:
                # It counts for the provider, too, if another label fails.
                self._noteRow(failure, wide, pause, seconds)
            row = None if failure is Failure.QUOTA else (
                self._noteRow(failure, subject, pause, seconds))
            if row and self.lasting.isLasting(failure, row):
                self.planner.refuse(subject, (
                    f'{row.errors} launches in a row, over {row.seconds:.0f} '
                    f'{REFUSALS[failure]} {reason}'))
            elif row and failure is Failure.TEMPORARY:
                self.planner.refuse(subject, (
                    f'{row.errors} launches in a row have failed, and the '
                    f'nodeset has an alternative: {reason}'),
                    is_lasting=False)
        self.log.info('Pausing %s for %.1f seconds: %s',
                      subject, pause, reason)
        self.queue.addAfter(('provider', subject), pause)
        self.noteChange()

    def _noteRow(self, failure: Failure, subject: Subject, pause: float,
                 seconds: float) -> Row | None:
        """:return: as of :meth:`.LastingFailures.note`."""
        errors = self.capacity_errors
        if failure is Failure.TEMPORARY:
            # The tenants' providers of one name may differ.
            errors = max(map(getAttempts, self.planner.scope.by_name.get(
                subject.provider, ())), default=1)
        row = self.lasting.note(failure, subject, errors, pause, seconds)
        if row and failure is Failure.CAPACITY and (
                self.lasting.isLasting(failure, row)
                and self.planner.hasLaunched(subject)):
            # The capacity is in use, and comes back.
            self._clear(failure, subject)
            return None
        return row

    def noteSuccess(self, subject: Subject) -> None:
        """Note a successful launch: the next pause of the provider and of the
        label is short.

        :param subject: the label of the node.
        """
        subjects = subject, subject.whole
        for each in subjects:
            self.backoff.clear(each)
        self._unreachable.pop(subject.whole, None)
        self._clear(Failure.CAPACITY, *subjects)
        self._clear(Failure.TEMPORARY, *subjects)

    def noteRemoval(self, node: ProviderNode) -> None:
        """:param node: that is gone, in its last known state."""
        if hasLaunched(node):
            self._clear(Failure.CAPACITY, getSubjectOf(
                self.planner.scope.identify(node)))

    def _clear(self, failure: Failure, *subjects: Subject) -> None:
        """End a row of failures, and what it has led to."""
        for subject in subjects:
            if self.lasting.clear(failure, subject):
                self.planner.admit(subject)

    def reconcile(self, subject: Subject) -> None:
        """End the pause of a provider or of a label, if it is over."""
        if left := self.planner.getPause(subject):
            # This is the end of an earlier pause.
            self.queue.addAfter(('provider', subject), left)
            return
        # Whether the cloud can serve it now, only an attempt can tell: one for
        # each request, as those of several providers need not be paused at
        # the same time.
        self.planner.admit(subject, is_certain=False)
        self.planner.resume(subject)
        self.capacityChanged()
        self.noteChange()
