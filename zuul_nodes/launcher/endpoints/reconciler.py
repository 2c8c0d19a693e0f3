"""Endpoints: prepared for their providers, and kept in order.

Every launcher prepares an endpoint for what it makes there itself.  One of
them asks the cloud for its quotas and removes what has leaked, now and
then; what it learns of quotas is in ZooKeeper, where all have it from.
All that is done by threads of the endpoint, so none waits for another.
"""

import collections
import contextlib
import dataclasses
import functools
import logging
import math
import time
import typing

from zuul.zk.components import COMPONENT_REGISTRY

from zuul_nodes.launcher.endpoints.leaks import Memory, Round
from zuul_nodes.launcher.providers import (
    Failure,
    Ownership,
    classify,
    describe,
    getAttempts,
)

# After so many seconds without a step, a driver is not waited for.
PATIENCE = 600.0


class Silence(typing.NamedTuple):
    """A cloud does not say what a label needs.

    :ivar str problem: for people, why; None if it was not asked yet.
    :ivar int attempts: how often it was asked in vain.  When that is as
        often as a provider tries to make a node, there is no answer: those
        who wait for the label are told so.
    """
    problem: str | None = None
    attempts: int = 0


UNASKED = Silence()


@dataclasses.dataclass
class Turn:
    """One time that something is done for an endpoint.

    :ivar float seen: when it was last seen to go on.
    :ivar list providers: at the endpoint, when it began.
    :ivar bool begun: whether it has begun.
    :ivar float ended: when it ended, or None.
    """
    seen: float
    providers: list
    begun: bool = False
    ended: float | None = None
    failed: bool = False
    given_up: bool = False


class EndpointReconciler:
    """
    :param Launcher launcher: whose endpoints are looked after.
    :param submit: called with an endpoint and a function, which it calls
        in one of the endpoint's own threads; and one that it calls with
        an error if it can't, or nobody waits for that any more.
    :param float interval: seconds between rounds, and between two
        sightings of what has leaked; may be changed.
    :param float quota_interval: seconds between questions for quotas.
    :param clock: gives seconds.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, launcher, submit, interval=60.0, quota_interval=300.0,
                 clock=time.monotonic):
        self.launcher = launcher
        self.submit = submit
        self.interval = interval
        self.quota_interval = quota_interval
        self.clock = clock
        self.ownership = Ownership(
            COMPONENT_REGISTRY.registry, launcher.component_info)
        self._turns = {}
        # Endpoint -> providers that it has been prepared for.
        self._prepared = {}
        # Endpoint -> providers that its cloud has been asked for, each with
        # its labels: None if there was an answer, or a Silence.
        self._asked = {}
        self._memories = collections.defaultdict(Memory)
        # Endpoint -> what keeps us from looking after it.
        self._problems = {}

    def reconcile(self, endpoint_name):
        """Begin what is due for an endpoint.

        :param str endpoint_name: its canonical name.
        """
        endpoint = self.launcher.getEndpoints().get(endpoint_name)
        if endpoint is None:
            self._forget(endpoint_name)
            return
        is_mine = self.ownership.isMyEndpoint(endpoint)
        delays = [self.interval, self._begin(
            endpoint, self.refreshQuota,
            self.quota_interval if is_mine else math.inf)]
        if not is_mine:
            # What we saw may be long ago when it is our turn again.
            self._memories.pop(endpoint_name, None)
            # Another launcher may have found out something.
            self._tellPlanner(endpoint)
        elif self.isPrepared(endpoint):
            delays.append(
                self._begin(endpoint, self.cleanUp, self.interval))
        self.launcher.queue.addAfter(
            ('endpoint', endpoint_name), min(delays))

    def isPrepared(self, endpoint):
        """:return: whether drivers have prepared it, as far as they could,
            for the providers that it had at some time."""
        return endpoint.canonical_name in self._prepared

    def knowsAll(self, endpoint, providers):
        """:return: whether drivers know all that may be wanted of an
            endpoint, by these providers, which are there, or others.
        """
        prepared = self._prepared.get(endpoint.canonical_name, ())
        return (self.launcher.layouts.isKnown()
                and not self.launcher.scope.unreadable
                and all(any(provider is each for each in prepared)
                        for provider in providers))

    def refreshQuota(self, endpoint, turn=None):
        """Prepare an endpoint for providers that are new there; ask the
        cloud for its limits, and for what is not known yet of the quota
        that labels need.

        :param Turn turn: that this is, if it can be given up.
        :raises Exception: whatever the driver raises, for the limits.
        """
        turn = turn or self._makeTurn(endpoint)
        is_mine = self.ownership.isMyEndpoint(endpoint)
        try:
            self._prepare(endpoint, turn, is_mine)
            # Not every driver has limits.
            with contextlib.suppress(NotImplementedError):
                if self.mayGoOn(turn):
                    endpoint.refreshQuotaLimits(is_mine)
        finally:
            # Not by name: those of a new layout are others.
            asked = {id(provider): (provider, {
                name: self._refreshLabel(endpoint, provider, name, turn)
                for name in provider.labels if self.mayGoOn(turn)})
                for provider in turn.providers}
            # Otherwise, others may know more by now.
            if self.mayGoOn(turn):
                self._asked[endpoint.canonical_name] = asked
                self._tellPlanner(endpoint)

    def isAsked(self, provider, label_name=None):
        """
        :param str label_name: None if it is enough to have asked, whatever
            was answered.
        :return: whether a cloud has answered all that could be asked of
            it for a provider and a label.
        """
        try:
            endpoint = provider.getEndpoint()
        except Exception:
            return True
        labels = self._getAnswers(endpoint, provider)
        if labels is None or label_name is None:
            return labels is not None
        answer = labels.get(label_name, UNASKED)
        return answer is None or answer.attempts >= getAttempts(provider)

    def getProblem(self, provider, label_name):
        """
        :return: for people, why it is not known what a label needs; None if
            it is, or if the cloud is only about to be asked.
        """
        try:
            endpoint = provider.getEndpoint()
        except Exception:
            return None
        name = endpoint.canonical_name
        if problem := self._problems.get(name):
            return f'endpoint {name}: {problem}'
        if not endpoint.started:
            return f'endpoint {name} is being started'
        labels = self._getAnswers(endpoint, provider) or {}
        return (labels.get(label_name) or UNASKED).problem

    def cleanUp(self, endpoint, turn=None):
        """Count what others use, and delete what has leaked: one round.

        :param Turn turn: that this is, if it can be given up.
        """
        turn = turn or self._makeTurn(endpoint)
        Round(self, endpoint, self._memories[endpoint.canonical_name],
              turn).run()
        self._tellPlanner(endpoint)

    def mayGoOn(self, turn):
        """To be asked before every step."""
        turn.seen = self.clock()
        return not (turn.given_up or self.launcher.stop_event.is_set())

    def _prepare(self, endpoint, turn, is_mine):
        name = endpoint.canonical_name
        done = {id(provider) for provider in self._prepared.get(name, [])}
        prepared = []
        for provider in turn.providers:
            if not self.mayGoOn(turn):
                break
            try:
                if id(provider) not in done:
                    endpoint.postConfig(provider)
                    with contextlib.suppress(NotImplementedError):
                        provider.postConfig(is_mine)
                prepared.append(provider)
            except Exception:
                # Another one may be all right.
                turn.failed = True
                self.log.exception('Unable to prepare endpoint %s for %s:',
                                   name, provider)
        if self.mayGoOn(turn):
            self._prepared[name] = prepared

    def _getAnswers(self, endpoint, provider):
        """:return: name of a label -> what :meth:`_refreshLabel` came to;
            None if the cloud was not asked."""
        _, labels = self._asked.get(endpoint.canonical_name, {}).get(
            id(provider), (None, None))
        return labels

    def _refreshLabel(self, endpoint, provider, name, turn):
        """:return: None if there was an answer, or a Silence."""
        try:
            # A label may have a flavor of its own.
            view = self.launcher.scope.forNode(provider, name, '')
            # What a flavor needs does not change, and drivers keep one
            # number for all labels of a flavor.
            with contextlib.suppress(NotImplementedError):
                view.refreshQuotaForLabel(view.labels[name], False)
        except Exception as error:
            # It is asked again before long.
            turn.failed = True
            self.log.exception('Unable to refresh the quota of label %s of '
                               '%s:', name, provider)
            former = (self._getAnswers(endpoint, provider) or {}).get(name)
            return Silence(
                describe(error), (former or UNASKED).attempts + {
                    Failure.PERMANENT: getAttempts(provider),
                    Failure.ATTEMPT: 1}.get(classify(error), 0))
        return None

    def _begin(self, endpoint, task, pause):
        """Do something in the endpoint's threads, if its time has come.

        :param float pause: seconds between two times.
        :return: seconds until it should be looked at again.
        """
        key = endpoint.canonical_name, task
        now = self.clock()
        turn = self._makeTurn(endpoint)
        if last := self._turns.get(key):
            if last.ended is None:
                if now - last.seen < PATIENCE:
                    # When it ends, we are told.
                    return PATIENCE
                last.given_up = True
                self.log.error(
                    'No progress in %s of endpoint %s for %s seconds; '
                    'beginning anew', task.__name__, endpoint.canonical_name,
                    PATIENCE)
            elif (task != self.refreshQuota
                    or last.providers == turn.providers):
                due = last.ended + (self.interval if last.failed else pause)
                if now < due:
                    return due - now
        self._turns[key] = turn
        try:
            self.submit(endpoint, functools.partial(
                self._do, endpoint, task, turn), functools.partial(
                self._giveUp, endpoint, turn))
        except BaseException:
            del self._turns[key]
            raise
        return PATIENCE

    def _giveUp(self, endpoint, turn, error):
        """Try again before long if the endpoint does not even start."""
        self._tellProblem(endpoint, turn, error)
        if not turn.begun:
            turn.failed = turn.given_up = True
            self._end(endpoint, turn)

    def _tellProblem(self, endpoint, turn, error):
        """Tell why an endpoint is not ready, once for as long as that is
        so."""
        name = endpoint.canonical_name
        problem = describe(error)
        if self._problems.get(name) == problem:
            return
        self._problems[name] = problem
        providers = {provider.canonical_name for provider in turn.providers}
        self.log.warning(
            'Unable to look after endpoint %s, requests may wait for %s:',
            name, ', '.join(sorted(providers)), exc_info=error)
        self._tellPlanner(endpoint)

    def _do(self, endpoint, task, turn):
        turn.begun = True
        self._problems.pop(endpoint.canonical_name, None)
        try:
            task(endpoint, turn)
        except Exception:
            turn.failed = True
            self.log.exception('Error in %s of endpoint %s:', task.__name__,
                               endpoint.canonical_name)
        finally:
            self._end(endpoint, turn)

    def _end(self, endpoint, turn):
        turn.ended = self.clock()
        # There may be something that had to wait for this.
        self.launcher.queue.add(('endpoint', endpoint.canonical_name))

    def _makeTurn(self, endpoint):
        return Turn(self.clock(), self._getProviders(endpoint))

    def _getProviders(self, endpoint):
        """:return: a list of the tenants' objects of the providers there,
            as far as their drivers say where they are."""
        found = []
        for providers in list(self.launcher.tenant_providers.values()):
            for provider in providers:
                if (provider.connection_name
                        != endpoint.connection.connection_name):
                    continue
                try:
                    name = provider.getEndpoint().canonical_name
                except Exception:
                    self.log.exception(
                        'Unable to get the endpoint of %s:', provider)
                    continue
                if name == endpoint.canonical_name:
                    found.append(provider)
        return found

    def _tellPlanner(self, endpoint):
        self.launcher.planner.limitsChanged(
            {provider.canonical_name
             for provider in self._getProviders(endpoint)})
        self.launcher.min_ready.tell()

    def _forget(self, name):
        for known in (self._memories, self._prepared, self._asked,
                      self._problems):
            known.pop(name, None)
        for task in (self.refreshQuota, self.cleanUp):
            self._turns.pop((name, task), None)
