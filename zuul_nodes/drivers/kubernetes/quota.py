"""Quotas of namespaces: what there may be in one, and what a pod takes.

An endpoint is a cluster, and each namespace has limits of its own.  So what
is limited in one has its name, as in ``ci/requests.cpu``, and counts beside
what there is of the whole cluster.

https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

import re

from zuul_nodes.drivers.kubernetes.quantities import (
    NAMES,
    getLimits,
    getRequests,
    parse,
    simplify,
    total,
)

# What pods request has two names there.
SHORT = re.compile(r'cpu|memory|ephemeral-storage|hugepages-.+')
# Volumes request this, not pods.
STORAGE = 'requests.storage'
OF_PODS = re.compile(r'pods|count/pods|requests\..+|limits\..+')
PREFIX = re.compile(r'(?:requests|limits)\.')


def measure(spec, has_ended=False):
    """
    :param dict spec: of a pod.
    :param bool has_ended: whether it will not run any more.
    :return: what it takes of a quota: resource -> number, memory and
        storage in MiB.
    """
    # Only how many there are is limited of those.
    used = {'count/pods': 1}
    if not has_ended:
        used['pods'] = 1
        for prefix, get in (('requests', getRequests), ('limits', getLimits)):
            used |= {f'{prefix}.{resource}': amount for resource, amount
                     in total(spec, get).items()}
    return _convert(used)


def read(quotas):
    """
    :param quotas: each ResourceQuota of a namespace, as the API server has
        it.
    :return: what there may be of what pods take: resource -> number, as of
        :func:`measure`; the least, if there are several.  Those that are not
        for all pods are left out.
    """
    found = {}
    for quota in quotas:
        if quota['spec'].get('scopes') or quota['spec'].get('scopeSelector'):
            continue
        hard = (quota.get('status') or {}).get('hard') or {}
        for name, text in hard.items():
            resource = f'requests.{name}' if SHORT.fullmatch(name) else name
            if OF_PODS.fullmatch(resource) and resource != STORAGE:
                amount = parse(text)
                found[resource] = min(amount, found.get(resource, amount))
    return _convert(found)


def qualify(namespace, amounts):
    """:return: the same, as it is among what others have."""
    return {f'{namespace}/{resource}': amount
            for resource, amount in amounts.items()}


def _convert(amounts):
    return {resource: simplify(amount / _getUnit(resource))
            for resource, amount in amounts.items()}


def _getUnit(resource):
    return NAMES.get(PREFIX.sub('', resource), (None, 1))[1]
