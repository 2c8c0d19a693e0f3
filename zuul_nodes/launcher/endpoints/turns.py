"""Recurring tasks for endpoints, in the threads of each endpoint."""

import dataclasses
import functools
import logging
import time
import typing

from zuul_nodes.launcher.providers import isLoginRefused


@dataclasses.dataclass
class Turn:
    """One run of a task for an endpoint.

    :ivar clock: returns seconds.
    :ivar stop_event: is set when the launcher stops.
    :ivar float interval: seconds between two runs.
    :ivar float seen: when it last made progress.
    :ivar list providers: at the endpoint when it began.
    :ivar bool begun: whether it has begun.
    :ivar float ended: when it ended, or None.
    :ivar bool failed: whether a part of it failed.
    :ivar bool given_up: whether it made no progress and was given up.
    :ivar Exception refusal: the first refusal of this launcher's log-in, or
        None.
    """
    clock: typing.Callable
    stop_event: object
    interval: float
    seen: float
    providers: list
    begun: bool = False
    ended: float | None = None
    failed: bool = False
    given_up: bool = False
    refusal: Exception | None = None

    def noteError(self, error):
        """Note the error of a call to the cloud."""
        if self.refusal is None and isLoginRefused(error):
            self.refusal = error

    def shouldContinue(self):
        """Note progress; to be called before every step.

        :return: whether to continue.
        """
        self.seen = self.clock()
        return not (self.given_up or self.stop_event.is_set())


class Task(typing.NamedTuple):
    """A task that recurs for every endpoint.

    :ivar str name: for log lines.
    :ivar run: called with an endpoint and a Turn.
    :ivar bool is_for_providers: whether the task is due when the endpoint
        gets other providers.
    """
    name: str
    run: typing.Callable
    is_for_providers: bool = False


class Turns:
    """Runs tasks for endpoints when they are due.

    :param WorkQueue queue: gets the key of an endpoint when a task ends.
    :param EndpointPools pools: run the tasks.
    :param stop_event: is set when the launcher stops.
    :param Settings settings: of the launcher.
    :param clock: returns seconds.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, queue, pools, stop_event, settings,
                 clock=time.monotonic):
        self.queue = queue
        self.pools = pools
        self.stop_event = stop_event
        self.interval = settings.cleanup_interval
        self.progress_timeout = settings.endpoint_progress_timeout
        self.clock = clock
        # (endpoint, task) -> the last Turn
        self._turns = {}

    def make(self, providers):
        """:return: a Turn for the providers of an endpoint."""
        return Turn(self.clock, self.stop_event, self.interval, self.clock(),
                    providers)

    def begin(self, endpoint, task, providers, interval, tellProblem):
        """Run a task in the endpoint's threads if it is due.

        :param Task task: the task.
        :param list providers: at the endpoint.
        :param float interval: seconds between two successful runs.
        :param tellProblem: called with the endpoint, the providers and the
            exception of a failed start, or None when the task begins.
        :return: seconds until the task is due again.
        """
        key = endpoint.canonical_name, task.name
        turn = self.make(providers)
        now = turn.seen
        if last := self._turns.get(key):
            if last.ended is None:
                if now - last.seen < self.progress_timeout:
                    # The end of the turn adds the endpoint's key.
                    return self.progress_timeout
                last.given_up = True
                self.log.error(
                    'No progress in %s of endpoint %s for %s seconds; '
                    'starting again', task.name, endpoint.canonical_name,
                    self.progress_timeout)
            elif not task.is_for_providers or last.providers == providers:
                due = last.ended + (self.interval if last.failed else interval)
                if now < due:
                    return due - now
        self._turns[key] = turn
        try:
            self.pools.submit(
                endpoint, functools.partial(
                    self._run, endpoint, task, turn, tellProblem),
                functools.partial(self._done, endpoint, turn, tellProblem),
                'Maintenance')
        except BaseException:
            del self._turns[key]
            raise
        return self.progress_timeout

    def _done(self, endpoint, turn, tellProblem, _, error):
        """Retry after the interval if the endpoint does not start."""
        if error is None:
            return
        tellProblem(endpoint, turn.providers, error)
        if not turn.begun:
            turn.failed = turn.given_up = True
            self._end(endpoint, turn)

    def _run(self, endpoint, task, turn, tellProblem):
        turn.begun = True
        tellProblem(endpoint, turn.providers, None)
        try:
            task.run(endpoint, turn)
        except Exception as error:
            turn.failed = True
            self.log.exception('Error in %s of endpoint %s:', task.name,
                               endpoint.canonical_name)
            turn.noteError(error)
        finally:
            self._end(endpoint, turn)
        if turn.refusal:
            self.pools.failed(endpoint, turn.refusal)

    def _end(self, endpoint, turn):
        turn.ended = self.clock()
        # Another task may be waiting for this one.
        self.queue.add(('endpoint', endpoint.canonical_name))

    def forgetEndpoint(self, endpoint_name):
        for key in [key for key in list(self._turns)
                    if key[0] == endpoint_name]:
            del self._turns[key]
