"""What may be used, and what nodes need of it.

A limit is a provider's, a section's, an endpoint's, a tenant's, or a tenant's
for one label (``max-nodes``).  Each of these has an account, and a node counts
in all that it belongs to: so there is one rule for all limits.
"""

import collections
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Mapping,
)
import dataclasses
import logging
import math
import time
from typing import Any, TypeAlias

from zuul.model import ProviderNode
from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes import messages
from zuul_nodes.drivers import MOST_SLOTS
from zuul_nodes.launcher.providers import (
    Account,
    Scope,
    Subject,
    describe,
    getAccounts,
    getPlace,
    getPlaceOf,
    getSectionLimits,
)

# Of cores, GB and the like: less than any label needs.
ROUNDING = 1e-6


# What is limited: the account, and the name of a resource.
Key: TypeAlias = tuple[Account, str]
# How much of it is needed, used or there.
Charges: TypeAlias = Mapping[Key, float]
# Gives what is said of a provider, and of a label.
Make: TypeAlias = Callable[[BaseProvider, str], Charges | None]
# A label, or nothing; and what is asked.
Question: TypeAlias = tuple[str, str]
CHARGES = 'charges'
TOTAL: Question = ('', 'limits')
USABLE: Question = ('', 'usable')
ENDPOINT: Question = ('', 'endpoint')


@dataclasses.dataclass
class Change:
    """How the limits of a provider have changed.

    :ivar less: keys of which there is less in all.
    :ivar more: keys of which there is more in all.
    :ivar freed: keys of which more may be used.
    """
    less: set[Key] = dataclasses.field(default_factory=set)
    more: set[Key] = dataclasses.field(default_factory=set)
    freed: set[Key] = dataclasses.field(default_factory=set)


# Until when an answer is good, the answer, and what gives it.
Answer: TypeAlias = tuple[float, Charges | None, Make | None]
NEVER: Answer = (0, None, None)


def withProblem(text: str, problem: str | None) -> str:
    """
    :param problem: the reason, or None if it is unknown.
    :return: the text with its reason.
    """
    return f'{text}: {problem}' if problem else text


def getLabelKey(tenant_name: str, label_name: str) -> Key:
    """:return: the key of a tenant's nodes with a label, at all providers."""
    return Account('label', label_name, tenant_name), 'nodes'


def getTenantAccount(tenant_name: str) -> Account:
    """:return: the account of all nodes of a tenant, at all providers."""
    return Account('tenant', tenant_name)


def getSlots(label: BaseProviderLabel) -> int:
    """:return: how many nodes of a label a machine has."""
    return min(max(label.slots or 1, 1), MOST_SLOTS)


def getSlotProblem(label: BaseProviderLabel) -> str | None:
    """:return: for people, why no machine can have the nodes of a label;
        None if one can."""
    if (label.slots or 1) <= MOST_SLOTS:
        return None
    return (f'"slots" of label {label.name} are {label.slots}, {MOST_SLOTS} '
            'are the most')


def getEntryNames(entry: Any, provider: BaseProvider) -> tuple[str, ...]:
    """
    :param entry: a static node of a provider.
    :return: the label of its nodes, and all aliases.
    """
    return (entry.label, *(entry.aliases or ()),
            *provider.labels[entry.label].aliases)


def getProviderQuota(charges: Charges) -> dict[str, float]:
    """
    :param charges: key -> amount.
    :return: dict resource -> amount, of what counts at the provider itself.
    """
    return {resource: amount for (account, resource), amount
            in charges.items() if account.kind == 'provider'}


def getTenantShare(tenant_name: str, limits: Container[str],
                   quota: Mapping[str, float],
                   share: float = 1) -> dict[Key, float]:
    """
    :param limits: the resources of which the tenant has a limit.
    :param quota: what a machine uses, resource -> amount.
    :param share: the tenant's part of the machine, at most 1.
    :return: what the tenant uses of what it may have, key -> amount.
    """
    account = getTenantAccount(tenant_name)
    return {(account, resource): amount if share == 1 else amount * share
            for resource, amount in quota.items()
            if amount > 0 and resource in limits}


def exceeds(amount: float, limit: float) -> bool:
    """:return: whether there is not enough; what is left of fractions by
        rounding does not count."""
    return amount - limit > ROUNDING


def _compare(former: Charges, now: Charges) -> tuple[set[Key], set[Key]]:
    """:return: the keys of which there is less, and those of which there is
        more; what has no limit is without end."""
    less: set[Key] = set()
    more: set[Key] = set()
    for key in former.keys() | now.keys():
        before, after = former.get(key, math.inf), now.get(key, math.inf)
        if before != after:
            (more if before < after else less).add(key)
    return less, more


def findExceeded(charges: Charges, limits: Charges) -> Key | None:
    """
    :param charges: key -> amount.
    :param limits: key -> limit.
    :return: the first key of which there is not enough, or None.
    """
    # A loop, because it is run for thousands of requests in a row.
    for key, amount in charges.items():
        limit = limits.get(key)
        if limit is not None and exceeds(amount, limit):
            return key
    return None


class Limits:
    """Answers of drivers, remembered for a while.

    What a key is throughout: an account and the name of a resource.

    :param lifetime: seconds for which an answer is remembered.
    :param getTenantLimits: as of :class:`.Surroundings`.
    :ivar users: account -> names of the providers whose nodes count
        in it.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(self, scope: Scope,
                 clock: Callable[[], float] = time.monotonic,
                 lifetime: float = 5.0,
                 getTenantLimits: Callable[[str], Mapping[str, float]] = (
                     lambda name: {})) -> None:
        self.clock = clock
        self.lifetime = lifetime
        self.getTenantLimits = getTenantLimits
        self.scope = Scope({})
        self._answers: dict[BaseProvider, dict[Question, Answer]] = (
            collections.defaultdict(dict))
        # What there was no answer to the last time -> why.
        self._problems: dict[BaseProvider, dict[Question, str]] = (
            collections.defaultdict(dict))
        # Provider and label -> what its nodes need, in which accounts they
        # count, and what that comes to.
        self._charges: dict[BaseProvider, dict[str, tuple[
            Mapping[str, float], tuple[Account, ...], Charges]]] = (
                collections.defaultdict(dict))
        # Provider -> in which accounts its nodes count; and those of labels.
        self._accounts: dict[BaseProvider, tuple[Account, ...]] = {}
        self._counted: dict[BaseProvider, tuple[Account, ...]] = {}
        # Name of a provider -> of which questions an answer differs from an
        # earlier one.
        self._changed: dict[str, set[str]] = {}
        # Name of a provider -> how its limits do.
        self._limited: dict[str, Change] = collections.defaultdict(Change)
        self.setScope(scope)

    def setScope(self, scope: Scope) -> set[str]:
        """
        :param scope: of new layouts.
        :return: the names of the tenants with other providers than before.
        """
        former, self.scope = self.scope, scope
        tenants = {
            tenant for tenant in former.by_tenant.keys() | scope.by_tenant
            if scope.by_tenant.get(tenant, {})
            != former.by_tenant.get(tenant, {})}
        tenants.update(
            tenant for tenant in (former.unreadable_by_tenant.keys()
                                  | scope.unreadable_by_tenant)
            if former.unreadable_by_tenant.get(tenant)
            != scope.unreadable_by_tenant.get(tenant))
        for tenant in tenants:
            now = scope.by_tenant.get(tenant, {})
            for name, provider in former.by_tenant.get(tenant, {}).items():
                if now.get(name) is provider:
                    continue
                for memory in (self._answers, self._problems, self._charges,
                               self._accounts, self._counted):
                    memory.pop(provider, None)
        self._count()
        return tenants

    def getProviderAccounts(self,
                            provider: BaseProvider) -> tuple[Account, ...]:
        """:return: a tuple of those in which the provider's nodes count."""
        if accounts := self._accounts.get(provider):
            return accounts
        try:
            endpoint_name = provider.getEndpoint().name
        except Exception as error:
            self._note(error, provider, ENDPOINT)
            endpoint_name = None
        accounts = getAccounts(
            provider.canonical_name, (provider.connection_name, endpoint_name),
            provider)
        if endpoint_name is not None:
            self._accounts[provider] = accounts
        return accounts

    def getNodeAccounts(self, node: ProviderNode,
                        provider: BaseProvider | None) -> tuple[Account, ...]:
        """
        :param provider: the object of the tenant that a node counts for, or
            None.
        :return: the accounts of all tenants in which the node counts.
        """
        return (provider and self._accounts.get(provider)) or getAccounts(
            node.provider, getPlaceOf(node), provider)

    def getCharges(self, provider: BaseProvider,
                   label_name: str) -> Charges | None:
        """
        :return: what a node would use, key -> amount; None if that can't
            be said now.
        """
        return self._ask(provider, (label_name, CHARGES), self._makeCharges)

    def getTenantCharges(self, provider: BaseProvider,
                         label_name: str) -> Charges:
        """:return: what a machine of a label would use of what its tenant may
            have, key -> amount; empty if the tenant has no limits."""
        limits = self.getTenantLimits(provider.tenant_name)
        if not limits or label_name not in provider.labels:
            return {}
        return getTenantShare(
            provider.tenant_name, limits, getProviderQuota(
                self.getCharges(provider, label_name) or {}))

    def isTenantLimited(self, provider: BaseProvider) -> bool:
        """:return: whether the provider's tenant has a limit of its own, for
            all nodes or for those of a label."""
        return any(account.is_tenants
                   for account in self._getCounted(provider))

    def getTotal(self, provider: BaseProvider) -> Charges | None:
        """:return: key -> limit, or None if that can't be said now."""
        return self._ask(provider, TOTAL, self._makeTotal)

    def getUsable(self, provider: BaseProvider) -> Charges | None:
        """:return: the same without what is not Zuul's."""
        return self._ask(provider, USABLE, self._makeUsable)

    def getUsableOf(self, subject: Subject) -> Charges | None:
        """:return: the same, of what is paused."""
        for provider in self.scope.by_name.get(subject.provider, ()):
            if getPlace(provider) == subject.place:
                return self.getUsable(provider)
        return None

    def getProblem(self, provider: BaseProvider,
                   label_name: str | None = None) -> str | None:
        """
        :return: for people, why there is nothing to be said of a label, or
            of what may be used; None if there is.
        """
        questions = [(label_name, CHARGES)] if label_name else [TOTAL, USABLE]
        return next(filter(None, map(
            self._problems[provider].get, questions)), None)

    def refresh(self, names: Iterable[str]
                ) -> tuple[set[str], dict[str, Change]]:
        """Ask again what was asked of providers.

        :param names: of the providers.
        :return: which answers have changed since the last call: the names of
            the providers whose nodes need something else; and of those where
            only limits have changed, name -> how.
        """
        needs: set[str] = set()
        limits: dict[str, Change] = {}
        for name in names:
            for provider in self.scope.by_name.get(name, ()):
                answers = self._answers[provider]
                # What may be used depends on what there is.
                for key in sorted(answers, key=USABLE.__eq__):
                    make = answers[key][2]
                    if make and not self._isSettled(provider, key):
                        self._renew(provider, key, make)
            if changed := self._changed.pop(name, None):
                if CHARGES in changed:
                    needs.add(name)
                else:
                    limits[name] = self._limited[name]
            self._limited.pop(name, None)
        return needs, limits

    def _isSettled(self, provider: BaseProvider, key: Question) -> bool:
        """:return: whether an answer is known that hardly ever changes: what
            a node needs of where it counts.  It is asked again when it is
            used and too old."""
        if key[1] != CHARGES or self._answers[provider][key][1] is None:
            return False
        made = self._charges[provider].get(key[0])
        return made is not None and made[1] is self._accounts.get(provider)

    def _count(self) -> None:
        """Find out who counts where."""
        self.users: dict[Account, set[str]] = collections.defaultdict(set)
        for name, providers in self.scope.by_name.items():
            for provider in providers:
                for account in self._getCounted(provider):
                    self.users[account].add(name)

    def _getCounted(self, provider: BaseProvider) -> tuple[Account, ...]:
        accounts = self._counted.get(provider)
        if accounts is None:
            accounts = self._counted[provider] = (
                *self.getProviderAccounts(provider), *(
                    getLabelKey(provider.tenant_name, label.name)[0]
                    for label in provider.labels.values()
                    if label.max_nodes is not None),
                *([getTenantAccount(provider.tenant_name)]
                  if self.getTenantLimits(provider.tenant_name) else ()))
        return accounts

    def _makeCharges(self, provider: BaseProvider, label_name: str) -> Charges:
        view = self.scope.forNode(provider, label_name, '')
        label = view.labels[label_name]
        if problem := getSlotProblem(label):
            raise ValueError(problem)
        resources = view.getQuotaForLabel(label).getResources()
        accounts = self.getProviderAccounts(provider)
        made = self._charges[provider].get(label_name)
        # Mostly, nothing has changed.
        if made is None or made[:2] != (resources, accounts):
            made = self._charges[provider][label_name] = (
                resources, accounts, {
                    (account, resource): amount for account in accounts
                    for resource, amount in resources.items() if amount > 0})
        return made[2]

    def _makeTotal(self, provider: BaseProvider, _: str) -> Charges:
        limits = {
            'provider': getattr(provider, 'resource_limits', None) or {},
            'section': getSectionLimits(provider),
            'endpoint': provider.getEndpointLimits().getResources()}
        total = {
            (account, resource): max(0, limit)
            for account in self.getProviderAccounts(provider)
            for resource, limit in limits[account.kind].items()
            if limit is not None}
        total.update(
            (getLabelKey(provider.tenant_name, label.name),
             max(0, label.max_nodes))
            for label in provider.labels.values()
            if label.max_nodes is not None)
        account = getTenantAccount(provider.tenant_name)
        total.update(
            ((account, resource), limit) for resource, limit
            in self.getTenantLimits(provider.tenant_name).items())
        return total

    def _makeUsable(self, provider: BaseProvider, _: str) -> Charges | None:
        total = self.getTotal(provider)
        if total is None:
            return None
        quota = provider.getEndpoint().quota_cache.getUnmanagedUsage()
        return {
            (account, resource): (
                max(0, limit - quota.quota.get(resource, 0))
                if account.kind == 'endpoint' else limit)
            for (account, resource), limit in total.items()}

    def _ask(self, provider: BaseProvider, key: Question,
             make: Make) -> Charges | None:
        until, answer, _ = self._answers[provider].get(key, NEVER)
        if until >= self.clock():
            return answer
        return self._renew(provider, key, make)

    def _renew(self, provider: BaseProvider, key: Question,
               make: Make) -> Charges | None:
        """:return: the answer."""
        answers, problems = self._answers[provider], self._problems[provider]
        answer, problem = None, problems.get(key)
        try:
            answer = make(provider, key[0])
            if problem is not None:
                del problems[key]
        except Exception as error:
            self._note(error, provider, key)
        if (known := answers.get(key)) and (
                answer, problems.get(key)) != (known[1], problem):
            name = provider.canonical_name
            self._changed.setdefault(name, set()).add(key[1])
            if key in (TOTAL, USABLE):
                less, more = _compare(known[1] or {}, answer or {})
                if key is TOTAL:
                    self._limited[name].less |= less
                    self._limited[name].more |= more
                else:
                    self._limited[name].freed |= more
        answers[key] = self.clock() + self.lifetime, answer, make
        return answer

    def _note(self, error: Exception, provider: BaseProvider,
              key: Question) -> None:
        problems = self._problems[provider]
        if key not in problems:
            # Before a cloud has been asked, this is nothing special.
            self.log.warning('Unable to tell limits or needs of %s: %s',
                             (provider, *filter(None, key)),
                             messages.withoutSecrets(repr(error)))
        problems[key] = describe(error)
