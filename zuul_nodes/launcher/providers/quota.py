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
    quota = QuotaInformation(default=math.inf)
    # A tenant names the resources; none is an argument.
    quota.quota.update(limits)
    return quota
