"""How requests can be served, found out once for all with equal needs."""

import functools

from zuul_nodes.launcher.planner.candidates import Candidates
from zuul_nodes.launcher.planner.selection import Ever

# How many different needs are remembered.
NEEDS = 1024


class FoundCandidates:
    """
    :param Capacity capacity: knows the layouts and their limits.
    :param Blockers blockers: knows who makes what.
    """

    def __init__(self, capacity, blockers):
        self.capacity = capacity
        self.blockers = blockers
        self._found = {}

    def get(self, request, needs):
        """
        :param Needs needs: of the request.
        :return: an Candidates.
        """
        if (options := self._found.get(needs)) is None:
            if len(self._found) >= NEEDS:
                self.forget()
            options = self._found[needs] = self._make(request, needs)
        return options

    def renew(self, request, needs, options, names):
        """
        :param Candidates options: of those needs.
        :param names: of the providers that may have changed; None if there
            are other ones.
        :return: what they are now.
        """
        if names is None:
            return self._make(request, needs)
        return options.renew(self._getEver(request), names)

    def forget(self):
        """Something has changed."""
        self._found.clear()

    def _make(self, request, needs):
        scope, name = self.capacity.scope, needs.tenant_name
        return Candidates(
            needs, scope.by_tenant.get(name, {}),
            scope.unreadable_by_tenant.get(name, {}), self._getEver(request))

    def _getEver(self, request):
        return Ever(
            self.capacity.limits, functools.partial(
                self.blockers.getRefusal, request), self.blockers.isMaking)
