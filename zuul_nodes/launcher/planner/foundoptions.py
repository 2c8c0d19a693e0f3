"""How requests can be served, found out once for all with equal needs."""

import functools

from zuul_nodes.launcher.planner.candidates import Options
from zuul_nodes.launcher.planner.selection import Ever

# How many different needs are remembered.
NEEDS = 1024


class FoundOptions:
    """
    :param Ledger ledger: knows the layouts and their limits.
    :param Obstacles obstacles: knows who makes what.
    """

    def __init__(self, ledger, obstacles):
        self.ledger = ledger
        self.obstacles = obstacles
        self._found = {}

    def get(self, request, needs):
        """
        :param Needs needs: of the request.
        :return: an Options.
        """
        if (options := self._found.get(needs)) is None:
            if len(self._found) >= NEEDS:
                self.forget()
            options = self._found[needs] = self._make(request, needs)
        return options

    def renew(self, request, needs, options, names):
        """
        :param Options options: of those needs.
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
        scope, name = self.ledger.scope, needs.tenant_name
        return Options(
            needs, scope.by_tenant.get(name, {}),
            scope.unreadable_by_tenant.get(name, {}), self._getEver(request))

    def _getEver(self, request):
        return Ever(
            self.ledger.limits, functools.partial(
                self.obstacles.getRefusal, request), self.obstacles.isMaking)
