"""How much of a cloud a provider may use.

The cloud has limits, the section has limits that its providers share,
whatever tenant they are of, and the provider has limits of its own.  The
least of them counts; zero is a limit, too.
"""

import math

from zuul.model import QuotaInformation

from zuul_nodes.drivers import getOwn


def getSection(provider):
    """
    :return: a dict with the canonical name of the section that the
        provider is attached to and its limits, or None if unknown.
    """
    # Each of its labels says the same.
    for label in provider.labels.values():
        return getOwn(label).get('section')
    return None


def getSectionLimits(provider):
    """:return: resource -> number; empty if there are no limits."""
    section = getSection(provider)
    return section.get('limits', {}) if section else {}


def getLeft(limits, used):
    """
    :param dict limits: resource -> number
    :param used: what others use, an iterable of QuotaInformation.
    :return: a QuotaInformation of what they leave of these resources.
    """
    left = makeQuota(limits)
    for quota in used:
        left.subtract(quota)
    # Less than nothing would count against nodes that do not need that
    # resource, and for Zuul a full provider would look like an empty one.
    return makeQuota({
        resource: max(0, left.quota[resource]) for resource in limits})


def makeQuota(limits):
    """:return: a QuotaInformation; what is not in the limits has none."""
    return QuotaInformation(default=math.inf, **limits)


class QuotaMixin:
    """Makes Zuul's launcher keep to the limits of sections."""

    def updateTenantProviders(self):
        updated = super().updateTenantProviders()
        if updated:
            self._refreshOwnFlavors()
        return updated

    def _refreshOwnFlavors(self):
        """Ask clouds for what they do not know from their providers: how
        much a flavor needs that just one label uses."""
        for provider in self._getHandledProviders():
            for name, label in provider.labels.items():
                if 'flavor' not in getOwn(label):
                    continue
                view = self.scope.forNode(provider, name, '')
                try:
                    view.refreshQuotaForLabel(view.labels[name], False)
                except Exception:
                    self.log.exception(
                        'Unable to refresh the quota of label %s of %s',
                        name, provider)

    def getProviderQuotaAvailable(self, provider, messages,
                                  include_requested=False):
        quota = super().getProviderQuotaAvailable(
            provider, messages, include_requested=include_requested)
        if limits := getSectionLimits(provider):
            section = getSection(provider)['name']
            left = getLeft(limits, (
                self.api.nodes_cache.getQuota(
                    other, include_requested=include_requested)
                for name, other in self.scope.by_section[section].items()
                if name != provider.canonical_name))
            messages.append(
                f'Section {section} has left for {provider.name}: {left}')
            quota.min(left)
        return quota

    def doesProviderHaveQuotaForLabel(self, tenant_name, provider, label,
                                      messages, include_usage=True):
        provider = self.scope.forNode(provider, label.name, '')
        label = provider.labels[label.name]
        if not super().doesProviderHaveQuotaForLabel(
                tenant_name, provider, label, messages,
                include_usage=include_usage):
            return False
        # Otherwise the section was asked in getProviderQuotaAvailable.
        if include_usage or not (limits := getSectionLimits(provider)):
            return True
        messages.append(f'Section of {provider} has limits: {limits}')
        quota = makeQuota(limits)
        quota.subtract(provider.getQuotaForLabel(label))
        return quota.nonNegative()
