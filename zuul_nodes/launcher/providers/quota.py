"""Limits of providers and sections.

Three kinds of limits apply: the cloud's, the section's, which its providers of
all tenants share, and the provider's own.  The lowest one counts; zero is a
limit, too.
"""

import math

from zuul.model import QuotaInformation

from zuul_nodes.drivers import getOwn


def getSection(provider):
    """:return: a dict with the canonical name and the limits of the provider's
        section; None if unknown."""
    # All labels of a provider have the same section.
    for label in provider.labels.values():
        return getOwn(label).get('section')
    return None


def getSectionLimits(provider):
    """:return: resource -> limit; empty if there are none."""
    section = getSection(provider)
    return section.get('limits', {}) if section else {}


def getLeft(limits, used):
    """
    :param dict limits: resource -> limit.
    :param used: the usage of others, an iterable of QuotaInformation.
    :return: a QuotaInformation of the rest of these resources.
    """
    left = makeQuota(limits)
    for quota in used:
        left.subtract(quota)
    # A negative rest would count against nodes that do not need the resource,
    # and Zuul would take a full provider for an empty one.
    return makeQuota({
        resource: max(0, left.quota[resource]) for resource in limits})


def makeQuota(limits):
    """:return: a QuotaInformation; resources without a limit are infinite."""
    quota = QuotaInformation(default=math.inf)
    # Not as keyword arguments, because tenants choose the names of resources.
    quota.quota.update(limits)
    return quota
