"""Tasks for endpoints, each in turn in the endpoint's own threads."""

import dataclasses
import functools
import logging
import time
import typing


@dataclasses.dataclass
class Turn:
    """One time that something is done for an endpoint.

    :ivar clock: gives seconds.
    :ivar stop_event: is set when nothing is to be done any more.
    :ivar float interval: seconds between two times.
    :ivar float seen: when it was last seen to go on.
    :ivar list providers: at the endpoint, when it began.
    :ivar bool begun: whether it has begun.
    :ivar float ended: when it ended, or None.
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

    def mayGoOn(self):
        """To be asked before every step."""
        self.seen = self.clock()
        return not (self.given_up or self.stop_event.is_set())


class Task(typing.NamedTuple):
    """What is done for endpoints now and then.

    :ivar str name: for people.
    :ivar run: called with an endpoint and a Turn.
    :ivar bool is_for_providers: whether it is due when the endpoint has
        other providers.
    """
    name: str
    run: typing.Callable
    is_for_providers: bool = False


class Turns:
    """
    :param WorkQueue queue: where endpoints are looked at.
    :param EndpointPools pools: do what is due.
    :param stop_event: is set when the launcher stops.
    :param Settings settings:
    :param clock: gives seconds.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, queue, pools, stop_event, settings,
                 clock=time.monotonic):
        self.queue = queue
        self.pools = pools
        self.stop_event = stop_event
        self.interval = settings.cleanup_interval
        self.patience = settings.endpoint_patience
        self.clock = clock
        # Endpoint and task -> the last Turn.
        self._turns = {}

    def make(self, providers):
        """:return: a Turn for the providers of an endpoint."""
        return Turn(self.clock, self.stop_event, self.interval, self.clock(),
                    providers)

    def begin(self, endpoint, task, providers, pause, tellProblem):
        """Do something in the endpoint's threads, if its time has come.

        :param Task task:
        :param list providers: at the endpoint.
        :param float pause: seconds between two times.
        :param tellProblem: called with the endpoint, the providers and an
            exception if it can't be done; with None for that when it is
            begun.
        :return: seconds until it should be looked at again.
        """
        key = endpoint.canonical_name, task.name
        turn = self.make(providers)
        now = turn.seen
        if last := self._turns.get(key):
            if last.ended is None:
                if now - last.seen < self.patience:
                    # When it ends, we are told.
                    return self.patience
                last.given_up = True
                self.log.error(
                    'No progress in %s of endpoint %s for %s seconds; '
                    'beginning anew', task.name, endpoint.canonical_name,
                    self.patience)
            elif not task.is_for_providers or last.providers == providers:
                due = last.ended + (self.interval if last.failed else pause)
                if now < due:
                    return due - now
        self._turns[key] = turn
        try:
            self.pools.submit(
                endpoint, functools.partial(
                    self._run, endpoint, task, turn, tellProblem),
                functools.partial(self._done, endpoint, turn, tellProblem),
                'Looking after resources')
        except BaseException:
            del self._turns[key]
            raise
        return self.patience

    def _done(self, endpoint, turn, tellProblem, _, error):
        """Try again before long if the endpoint does not even start."""
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
        except Exception:
            turn.failed = True
            self.log.exception('Error in %s of endpoint %s:', task.name,
                               endpoint.canonical_name)
        finally:
            self._end(endpoint, turn)

    def _end(self, endpoint, turn):
        turn.ended = self.clock()
        # There may be something that had to wait for this.
        self.queue.add(('endpoint', endpoint.canonical_name))

    def forget(self, endpoint_name):
        for key in [key for key in list(self._turns)
                    if key[0] == endpoint_name]:
            del self._turns[key]
