"""Quotas of namespaces, and their usage by pods.

An endpoint is a cluster, but each namespace has limits of its own.  So the
resources of a namespace have its name as a prefix, as in ``ci/requests.cpu``,
and are separate from the resources of the whole cluster.

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

# Requests of these resources have two names in quotas.
SHORT = re.compile(r'cpu|memory|ephemeral-storage|hugepages-.+')
# Volumes use this resource, pods do not.
STORAGE = 'requests.storage'
OF_PODS = re.compile(r'pods|count/pods|requests\..+|limits\..+')
PREFIX = re.compile(r'(?:requests|limits)\.')


def measure(spec, has_ended=False):
    """
    :param dict spec: of a pod.
    :param bool has_ended: whether the pod has ended.
    :return: its usage of a quota: resource -> number, memory and storage in
        MiB.
    """
    # Quotas limit only the number of pods that have ended.
    used = {'count/pods': 1}
    if not has_ended:
        used['pods'] = 1
        for prefix, get in (('requests', getRequests), ('limits', getLimits)):
            used |= {f'{prefix}.{resource}': amount for resource, amount
                     in total(spec, get).items()}
    return _convert(used)


def read(quotas):
    """
    :param quotas: the ResourceQuotas of a namespace, as the API server returns
        them.
    :return: the limits of resources that pods use: resource -> number, as of
        :func:`measure`; the smallest, if there are several.  Quotas with a
        scope are ignored.
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
    """:return: the amounts, with the namespace as a prefix of each name."""
    return {f'{namespace}/{resource}': amount
            for resource, amount in amounts.items()}


def _convert(amounts):
    return {resource: simplify(amount / _getUnit(resource))
            for resource, amount in amounts.items()}


def _getUnit(resource):
    return NAMES.get(PREFIX.sub('', resource), (None, 1))[1]
