"""Endpoints: prepared for their providers, and kept in order.

Every launcher prepares an endpoint for what it makes there itself.  One of
them asks the cloud for its quotas and removes what has leaked, now and
then; what it learns of quotas is in ZooKeeper, where all have it from.
All that is done by threads of the endpoint, so none waits for another.
"""

import collections
import contextlib
import logging
import math

from zuul_nodes.launcher.endpoints.answers import Silence
from zuul_nodes.launcher.endpoints.leaks import Memory
from zuul_nodes.launcher.endpoints.turns import Task
from zuul_nodes.launcher.providers import (
    Failure,
    classify,
    describe,
    getAttempts,
)


class EndpointReconciler:
    """
    :param Turns turns: in which what is due is done.
    :param Layouts layouts: with the providers at the endpoints.
    :param HandledEndpoints endpoints: that are looked after.
    :param Answers answers: gets what clouds say of labels.
    :param Cleanup cleanup: removes what has leaked.
    :param tellLimits: called with a set of the names of providers that can
        make more or less than before.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, turns, layouts, endpoints, answers, cleanup,
                 tellLimits, settings):
        self.turns = turns
        self.layouts = layouts
        self.endpoints = endpoints
        self.answers = answers
        self.cleanup = cleanup
        self.tellLimits = tellLimits
        self.quota_interval = settings.quota_interval
        self._tasks = (Task('refreshQuota', self.refreshQuota, True),
                       Task('cleanUp', self.cleanUp))
        # Endpoint -> providers that it has been prepared for.
        self._prepared = {}
        self._memories = collections.defaultdict(Memory)

    def reconcile(self, endpoint_name):
        """Begin what is due for an endpoint.

        :param str endpoint_name: its canonical name.
        """
        endpoint = self.endpoints.get().get(endpoint_name)
        if endpoint is None:
            self._forget(endpoint_name)
            return
        is_mine = self.endpoints.isMine(endpoint)
        refresh, clean_up = self._tasks
        delays = [self.turns.interval, self._begin(
            endpoint, refresh, self.quota_interval if is_mine else math.inf)]
        if not is_mine:
            # What we saw may be long ago when it is our turn again.
            self._memories.pop(endpoint_name, None)
            # Another launcher may have found out something.
            self._tellPlanner(endpoint)
        elif self.isPrepared(endpoint):
            delays.append(
                self._begin(endpoint, clean_up, self.turns.interval))
        self.turns.queue.addAfter(('endpoint', endpoint_name), min(delays))

    def isPrepared(self, endpoint):
        """:return: whether drivers have prepared it, as far as they could,
            for the providers that it had at some time."""
        return endpoint.canonical_name in self._prepared

    def knowsAll(self, endpoint, providers):
        """:return: whether drivers know all that may be wanted of an
            endpoint, by these providers, which are there, or others.
        """
        prepared = self._prepared.get(endpoint.canonical_name, ())
        return (self.layouts.isKnown()
                and not self.layouts.scope.unreadable
                and all(any(provider is each for each in prepared)
                        for provider in providers))

    def refreshQuota(self, endpoint, turn=None):
        """Prepare an endpoint for providers that are new there; ask the
        cloud for its limits, and for what is not known yet of the quota
        that labels need.

        :param Turn turn: that this is, if it can be given up.
        :raises Exception: whatever the driver raises, for the limits.
        """
        turn = turn or self.turns.make(self._getProviders(endpoint))
        is_mine = self.endpoints.isMine(endpoint)
        try:
            self._prepare(endpoint, turn, is_mine)
            # Not every driver has limits.
            with contextlib.suppress(NotImplementedError):
                if turn.mayGoOn():
                    endpoint.refreshQuotaLimits(is_mine)
        finally:
            answers = [(provider, {
                name: self._refreshLabel(endpoint, provider, name, turn)
                for name in provider.labels if turn.mayGoOn()})
                for provider in turn.providers]
            # Otherwise, others may know more by now.
            if turn.mayGoOn():
                self.answers.note(endpoint, answers)
                self._tellPlanner(endpoint)

    def cleanUp(self, endpoint, turn=None):
        """Count what others use, and delete what has leaked: one round.

        :param Turn turn: that this is, if it can be given up.
        """
        turn = turn or self.turns.make(self._getProviders(endpoint))
        self.cleanup.run(endpoint, self._memories[endpoint.canonical_name],
                         turn, self.knowsAll)
        self._tellPlanner(endpoint)

    def _prepare(self, endpoint, turn, is_mine):
        name = endpoint.canonical_name
        done = {id(provider) for provider in self._prepared.get(name, [])}
        prepared = []
        for provider in turn.providers:
            if not turn.mayGoOn():
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
        if turn.mayGoOn():
            self._prepared[name] = prepared

    def _refreshLabel(self, endpoint, provider, name, turn):
        """:return: None if there was an answer, or a Silence."""
        try:
            # A label may have a flavor of its own.
            view = self.layouts.scope.forNode(provider, name, '')
            # What a flavor needs does not change, and drivers keep one
            # number for all labels of a flavor.
            with contextlib.suppress(NotImplementedError):
                view.refreshQuotaForLabel(view.labels[name], False)
        except Exception as error:
            # It is asked again before long.
            turn.failed = True
            self.log.exception('Unable to refresh the quota of label %s of '
                               '%s:', name, provider)
            former = self.answers.getFormer(endpoint, provider, name)
            return Silence(describe(error), former + {
                Failure.PERMANENT: getAttempts(provider),
                Failure.ATTEMPT: 1}.get(classify(error), 0))
        return None

    def _begin(self, endpoint, task, pause):
        """:return: seconds until it should be looked at again."""
        return self.turns.begin(
            endpoint, task, self._getProviders(endpoint), pause,
            self._noteProblem)

    def _noteProblem(self, endpoint, providers, error):
        """Tell why an endpoint is not ready, once for as long as that is
        so.

        :param Exception error: None if it is ready.
        """
        if error is None:
            self.answers.noteProblem(endpoint, None)
            return
        if not self.answers.noteProblem(endpoint, describe(error)):
            return
        names = {provider.canonical_name for provider in providers}
        self.log.warning(
            'Unable to look after endpoint %s, requests may wait for %s:',
            endpoint.canonical_name, ', '.join(sorted(names)),
            exc_info=error)
        self._tellPlanner(endpoint)

    def _getProviders(self, endpoint):
        """:return: a list of the tenants' objects of the providers there,
            as far as their drivers say where they are."""
        found = []
        for providers in list(self.layouts.tenant_providers.values()):
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
        self.tellLimits({provider.canonical_name
                         for provider in self._getProviders(endpoint)})

    def _forget(self, name):
        self._memories.pop(name, None)
        self._prepared.pop(name, None)
        self.answers.forget(name)
        self.turns.forget(name)
