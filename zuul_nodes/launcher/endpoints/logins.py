"""Withdrawal from endpoints whose clouds refuse the log-in of this launcher.

A launcher without valid credentials would spend the attempts of requests that
the other launchers could serve.  So it leaves the endpoint to them, and tries
again later.  One refusal may be a hiccup: the launcher withdraws if its next
call, which lists the instances, is refused as well, or the repeated step of a
node.
"""

import collections
import logging
import threading

from zuul_nodes import withdrawals
from zuul_nodes.launcher.providers import describe, isLoginRefused
from zuul_nodes.launcher.workers import Backoff

# The kind of keys in the work queue.
LOGIN = 'login'
RECORD = (LOGIN, '')


class Logins:
    """Withdraws this launcher from endpoints, and returns to them.

    :param LauncherComponent component: of this launcher; has the record.
    :param WorkQueue queue: gets the keys of endpoints, and of the record.
    :param EndpointPools pools: call the clouds.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param Settings settings: of the launcher.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, component, queue, pools, endpoints, settings):
        self.component = component
        self.queue = queue
        self.pools = pools
        self.endpoints = endpoints
        self.backoff = Backoff(settings.login_first_backoff,
                               settings.login_longest_backoff)
        # Canonical name of an endpoint -> withdrawal.
        self._withdrawals = {}
        self._locks = collections.defaultdict(threading.Lock)

    def noteError(self, endpoint, error):
        """Withdraw from an endpoint that does not start, or whose cloud
        refuses the log-in.

        This may call the cloud, so only threads that may wait for it call
        this.

        :param Exception error: of the start, or of a call.
        """
        name = endpoint.canonical_name
        if name in self._withdrawals or (
                endpoint.started and not isLoginRefused(error)):
            return
        # Several calls may fail at the same time.
        with self._locks[name]:
            if name not in self._withdrawals and (
                    error := self._confirm(endpoint, error)):
                self.withdraw(endpoint, error)

    def leaves(self, endpoint_name, error):
        """Withdraw from an endpoint if necessary, as :meth:`noteError` does.

        :param str endpoint_name: canonical.
        :param Exception error: of a call.
        :return: whether this launcher leaves the endpoint to others.
        """
        endpoint = self.endpoints.get().get(endpoint_name)
        if endpoint is None:
            return False
        self.noteError(endpoint, error)
        return self.endpoints.leaves(endpoint)

    def _confirm(self, endpoint, error):
        """:return: why this launcher cannot log in; None if it can."""
        if not endpoint.started:
            return error
        try:
            _askForInstances(endpoint)
        except Exception as again:
            return again if isLoginRefused(again) else None
        return None

    def withdraw(self, endpoint, error):
        """Leave an endpoint to other launchers, if they can log in.

        :param Exception error: why this launcher cannot.
        """
        name = endpoint.canonical_name
        if name in self._withdrawals:
            return
        withdrawal = withdrawals.make(describe(error))
        self.log.error(
            'Withdrawing from endpoint %s, leaving it to launchers that can '
            'log in there: %s', name, withdrawal.reason)
        self._withdrawals[name] = withdrawal
        self._note()
        # One that is refused again soon waits for longer.
        self.backoff.clearOld()
        self._tryLater(name)

    def _note(self):
        withdrawals.note(self.component, dict(self._withdrawals))
        # The other launchers know it when the record is written.
        self.queue.add(RECORD)

    def reconcile(self, name):
        """Try to log in at an endpoint from which this launcher has
        withdrawn.

        :param str name: its canonical name; empty to write the record of this
            launcher.
        """
        if not name:
            return withdrawals.write(self.component)
        if name not in self._withdrawals:
            return
        endpoint = self.endpoints.get().get(name)
        if endpoint is None:
            return self._return(name)
        self.pools.submit(
            endpoint, lambda: _askForInstances(endpoint),
            lambda _, error: self._endAttempt(name, error), 'Logging in')

    def _endAttempt(self, name, error):
        if error is None:
            self.log.info('Logged in at endpoint %s', name)
            self._return(name)
        else:
            self._tryLater(name)

    def _tryLater(self, name):
        self.queue.addAfter((LOGIN, name), self.backoff.noteFailure(name))

    def _return(self, name):
        self._withdrawals.pop(name, None)
        self._note()

    def count(self):
        """:return: number of endpoints from which this launcher has
            withdrawn."""
        return len(self._withdrawals)


def _askForInstances(endpoint):
    """Have a cloud list instances.

    :raises Exception: any exception of the driver.
    """
    # Without this, drivers may use a list that they already have.
    listing = getattr(endpoint, 'listing', None)
    for _ in listing.getNow() if listing else endpoint.listInstances():
        break
