"""Preparation and regular upkeep of endpoints.

Every launcher prepares an endpoint before it creates anything there.  One of
the launchers regularly reads quotas from the cloud and deletes leaked
resources.  It shares the quotas with the others in ZooKeeper.  The threads of
the endpoint do this work, so endpoints do not wait for each other.
"""

import collections
import contextlib
import logging
import math

from zuul_nodes.launcher.endpoints.answers import NoAnswer
from zuul_nodes.launcher.endpoints.leaks import Memory
from zuul_nodes.launcher.endpoints.turns import Task
from zuul_nodes.launcher.providers import (
    classify,
    countFailed,
    describe,
    getAttempts,
)


class EndpointReconciler:
    """Prepares endpoints, refreshes quota and starts clean-ups.

    :param Turns turns: runs the tasks in the threads of endpoints.
    :param Layouts layouts: has the providers at the endpoints.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param Answers answers: gets the clouds' answers about labels.
    :param Cleanup cleanup: deletes leaked resources.
    :param noteLimits: called with a set of names of providers whose limits
        may have changed.
    :param Settings settings: of the launcher.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, turns, layouts, endpoints, answers, cleanup,
                 noteLimits, settings):
        self.turns = turns
        self.layouts = layouts
        self.endpoints = endpoints
        self.answers = answers
        self.cleanup = cleanup
        self.noteLimits = noteLimits
        self.quota_interval = settings.quota_interval
        self._tasks = (Task('refreshQuota', self.refreshQuota, True),
                       Task('cleanUp', self.cleanUp))
        # Endpoint -> providers for which it is prepared.
        self._prepared = {}
        self._memories = collections.defaultdict(Memory)

    def reconcile(self, endpoint_name):
        """Start the tasks that are due for an endpoint.

        :param str endpoint_name: its canonical name.
        """
        endpoint = self.endpoints.get().get(endpoint_name)
        if endpoint is None:
            self._forget(endpoint_name)
            return
        if self.endpoints.leaves(endpoint):
            # Another launcher does the work until this one can log in.
            self._memories.pop(endpoint_name, None)
            self._updatePlanner(endpoint)
            return
        is_mine = self.endpoints.isMine(endpoint)
        refresh, clean_up = self._tasks
        delays = [self.turns.interval, self._begin(
            endpoint, refresh, self.quota_interval if is_mine else math.inf)]
        if not is_mine:
            # It would be out of date when this launcher's turn comes.
            self._memories.pop(endpoint_name, None)
            # The other launcher may have refreshed the quota.
            self._updatePlanner(endpoint)
        elif self.isPrepared(endpoint):
            delays.append(
                self._begin(endpoint, clean_up, self.turns.interval))
        self.turns.queue.addAfter(('endpoint', endpoint_name), min(delays))

    def isPrepared(self, endpoint):
        """:return: whether the drivers have tried to prepare it for its
            providers at least once."""
        return endpoint.canonical_name in self._prepared

    def knowsAll(self, endpoint, providers):
        """Tell whether the drivers know everything that nodes may need.

        :param list providers: at the endpoint.
        :return: whether all layouts are read and the drivers have prepared
            the endpoint for each provider.
        """
        prepared = self._prepared.get(endpoint.canonical_name, ())
        return (self.layouts.isKnown()
                and not any(
                    each.mayBeAt(endpoint) for unreadable
                    in self.layouts.scope.unreadable_by_tenant.values()
                    for each in unreadable.values())
                and all(any(provider is each for each in prepared)
                        for provider in providers))

    def refreshQuota(self, endpoint, turn=None):
        """Prepare an endpoint for new providers, and refresh its quota.

        The quota comprises the limits of the cloud and what each label needs
        of them.

        :param Turn turn: the turn of this task, which may be given up.
        :raises Exception: any exception of the driver about limits.
        """
        turn = turn or self.turns.make(self._getProviders(endpoint))
        is_mine = self.endpoints.isMine(endpoint)
        try:
            self._prepare(endpoint, turn, is_mine)
            # Some drivers have no limits.
            with contextlib.suppress(NotImplementedError):
                if turn.shouldContinue():
                    endpoint.refreshQuotaLimits(is_mine)
        finally:
            answers = [(provider, {
                name: self._refreshLabel(endpoint, provider, name, turn)
                for name in provider.labels if turn.shouldContinue()})
                for provider in turn.providers]
            # A turn that was given up may be out of date.
            if turn.shouldContinue():
                self.answers.noteAnswers(endpoint, answers)
                self._updatePlanner(endpoint)

    def cleanUp(self, endpoint, turn=None):
        """Measure foreign usage and delete leaked resources, one round.

        :param Turn turn: the turn of this task, which may be given up.
        """
        turn = turn or self.turns.make(self._getProviders(endpoint))
        self.cleanup.run(endpoint, self._memories[endpoint.canonical_name],
                         turn, self.knowsAll)
        self._updatePlanner(endpoint)

    def _prepare(self, endpoint, turn, is_mine):
        name = endpoint.canonical_name
        done = {id(provider) for provider in self._prepared.get(name, [])}
        prepared = []
        for provider in turn.providers:
            if not turn.shouldContinue():
                break
            try:
                if id(provider) not in done:
                    endpoint.postConfig(provider)
                    with contextlib.suppress(NotImplementedError):
                        provider.postConfig(is_mine)
                prepared.append(provider)
            except Exception as error:
                # Go on with the other providers.
                turn.failed = True
                turn.noteError(error)
                self.log.exception('Unable to prepare endpoint %s for %s:',
                                   name, provider)
        if turn.shouldContinue():
            self._prepared[name] = prepared

    def _refreshLabel(self, endpoint, provider, name, turn):
        """:return: None if there was an answer, or a NoAnswer."""
        try:
            # The flavor of a label may replace that of the provider.
            view = self.layouts.scope.forNode(provider, name, '')
            # The needs of a flavor do not change, and drivers keep one entry
            # for all labels of a flavor.
            with contextlib.suppress(NotImplementedError):
                view.refreshQuotaForLabel(view.labels[name], False)
        except Exception as error:
            # A failed turn is repeated after a shorter interval.
            turn.failed = True
            self.log.exception('Unable to refresh the quota of label %s of '
                               '%s:', name, provider)
            turn.noteError(error)
            former = self.answers.getAttemptsSoFar(endpoint, provider, name)
            return NoAnswer(describe(error), countFailed(
                former, classify(error), getAttempts(provider)))
        return None

    def _begin(self, endpoint, task, interval):
        """:return: seconds until the endpoint is due again."""
        return self.turns.begin(
            endpoint, task, self._getProviders(endpoint), interval,
            self._noteProblem)

    def _noteProblem(self, endpoint, providers, error):
        """Log why an endpoint is not ready, once for as long as that lasts.

        :param Exception error: None if it is ready.
        """
        if error is None:
            self.answers.noteProblem(endpoint, None)
            return
        if not self.answers.noteProblem(endpoint, describe(error)):
            return
        names = {provider.canonical_name for provider in providers}
        self.log.warning(
            'Unable to prepare endpoint %s, requests may wait for %s:',
            endpoint.canonical_name, ', '.join(sorted(names)),
            exc_info=error)
        self._updatePlanner(endpoint)

    def _getProviders(self, endpoint):
        """:return: a list of the tenants' providers at an endpoint, without
            those whose driver does not return their endpoint."""
        found = []
        for provider in self.layouts.scope.providers:
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

    def _updatePlanner(self, endpoint):
        self.noteLimits({provider.canonical_name
                         for provider in self._getProviders(endpoint)})

    def _forget(self, name):
        self._memories.pop(name, None)
        self._prepared.pop(name, None)
        self.answers.forgetEndpoint(name)
        self.turns.forgetEndpoint(name)
