"""Tells what the planner knows about a provider, for operators."""

import collections
import math

from zuul.provider import BaseProvider

from zuul_nodes.launcher.planner.blockers import Blockers
from zuul_nodes.launcher.planner.capacity import END, Capacity
from zuul_nodes.launcher.planner.limits import Limits, withProblem
from zuul_nodes.launcher.planner.pauses import Pauses
from zuul_nodes.launcher.providers import describeUnhandled
from zuul_nodes.providerstatus import Limit, Paused, Status


def getPaused(pauses: Pauses) -> dict[str, list[Paused]]:
    """:return: dict, canonical name of a provider -> its pauses."""
    found = collections.defaultdict(list)
    for subject, pause, left in pauses.getAll():
        found[subject.provider].append(
            Paused(subject.label, left, pause.reason))
    return found


def getStatus(provider: BaseProvider, paused: list[Paused],
              capacity: Capacity, blockers: Blockers) -> Status:
    """
    :param provider: one tenant's; what is told is the same for all.
    :param paused: its pauses.
    """
    limits = capacity.limits
    names = {account.kind: account.name
             for account in limits.getProviderAccounts(provider)}
    total = limits.getTotal(provider) or {}
    usable = limits.getUsable(provider)
    return Status(
        names.get('endpoint'), names.get('section'), [
            Limit(account.kind, account.name, resource, limit,
                  limit - (usable or total).get((account, resource), limit),
                  capacity.reservations.getAhead((account, resource), END)[0])
            for (account, resource), limit in total.items()
            # What is a tenant's own is in the configuration.
            if not account.is_tenants and math.isfinite(limit)],
        paused, _getProblem(provider, usable is None, limits, blockers))


def _getProblem(provider: BaseProvider, is_unknown: bool, limits: Limits,
                blockers: Blockers) -> str | None:
    if not blockers.isMaking(provider):
        return describeUnhandled([provider.connection_name])
    if is_unknown:
        return withProblem('its limits are not known',
                           limits.getProblem(provider))
    return next(filter(None, (
        blockers.describePreparing(provider, label_name)
        for label_name in provider.labels)), None)
