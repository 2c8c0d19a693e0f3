"""How requests can be served, found out once for all with equal needs."""

from collections.abc import Container
import functools

from zuul.model import NodesetRequest

from zuul_nodes.launcher.planner.blockers import Blockers
from zuul_nodes.launcher.planner.candidates import Candidates
from zuul_nodes.launcher.planner.capacity import Capacity
from zuul_nodes.launcher.planner.selection import Ever, Needs

# How many different needs are remembered.
NEEDS = 1024


class FoundCandidates:
    """
    :param capacity: knows the layouts and their limits.
    :param blockers: knows who makes what.
    """

    def __init__(self, capacity: Capacity, blockers: Blockers) -> None:
        self.capacity = capacity
        self.blockers = blockers
        self._found: dict[Needs, Candidates] = {}

    def get(self, request: NodesetRequest, needs: Needs) -> Candidates:
        """
        :param needs: of the request.
        :return: how such a request can be served.
        """
        if (options := self._found.get(needs)) is None:
            if len(self._found) >= NEEDS:
                self.forget()
            options = self._found[needs] = self._make(request, needs)
        return options

    def renew(self, request: NodesetRequest, needs: Needs, options: Candidates,
              names: Container[str] | None) -> Candidates:
        """
        :param options: of those needs.
        :param names: of the providers that may have changed; None if there
            are other ones.
        :return: what they are now.
        """
        if names is None:
            return self._make(request, needs)
        return options.renew(self._getEver(request), names)

    def forget(self) -> None:
        """Something has changed."""
        self._found.clear()

    def _make(self, request: NodesetRequest, needs: Needs) -> Candidates:
        scope, name = self.capacity.scope, needs.tenant_name
        return Candidates(
            needs, scope.by_tenant.get(name, {}),
            scope.unreadable_by_tenant.get(name, {}), self._getEver(request))

    def _getEver(self, request: NodesetRequest) -> Ever:
        return Ever(
            self.capacity.limits, functools.partial(
                self.blockers.getRefusal, request), self.blockers.isMaking)
