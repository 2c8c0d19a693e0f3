"""Parse amounts of Kubernetes, and add up the needs of pods.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import collections
import decimal
import re

_FORM = re.compile(
    r'([+-]?(?:\d+(?:\.\d*)?|\.\d+))'
    r'(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?')
_UNITS = {
    'n': decimal.Decimal('1e-9'), 'u': decimal.Decimal('1e-6'),
    'm': decimal.Decimal('1e-3'),
    **{unit: decimal.Decimal(1000) ** power
       for power, unit in enumerate('kMGTPE', 1)},
    **{f'{unit}i': decimal.Decimal(1024) ** power
       for power, unit in enumerate('KMGTPE', 1)}}
MIB = 1024 ** 2
# Kubernetes' resource -> Zuul's resource and its unit.
NAMES = {'cpu': ('cores', 1), 'memory': ('ram', MIB),
         'ephemeral-storage': ('storage', MIB)}
GPU = 'gpu'
# Other valid resources: those with a domain, and huge pages.
OTHERS = re.compile(r'.+/.+|hugepages-.+')


def parse(text):
    """
    :param text: an amount: a string or a number.
    :return: a Decimal.
    :raises ValueError: the text is not an amount.
    """
    match = _FORM.fullmatch(str(text))
    if not match:
        raise ValueError(f'"{text}" is not an amount such as 2, 500m or 4Gi')
    number, unit, exponent = match.groups()
    return decimal.Decimal(number) * (
        _UNITS[unit] if unit else decimal.Decimal(10) ** int(exponent or 0))


def getNeeds(spec):
    """
    :param dict spec: of a pod.
    :return: the needs of the pod, a dict: ``cores``, ``ram`` and ``storage``
        (MiB), ``gpu`` for GPUs of any kind, and others by their own names;
        without resources that the spec does not mention.
    """
    needs = {}
    for resource, amount in total(spec, getRequests).items():
        name, unit = NAMES.get(resource, (resource, 1))
        if GPU in resource:
            name = GPU
        elif resource not in NAMES and not OTHERS.fullmatch(resource):
            # No cluster has it, and records use names as keyword arguments.
            continue
        needs[name] = needs.get(name, 0) + amount / unit
    return {name: simplify(amount)
            for name, amount in needs.items() if amount}


def getRequests(resources):
    """
    :param dict resources: of a container.
    :return: resource -> amount; a limit without a request is the request.
    """
    return {**(resources.get('limits') or {}),
            **(resources.get('requests') or {})}


def getLimits(resources):
    """:return: resource -> maximum amount of a container."""
    return resources.get('limits') or {}


def total(spec, get):
    """
    :param dict spec: of a pod.
    :param get: :func:`getRequests` or :func:`getLimits`.
    :return: the sum over all containers, resource -> Decimal.
    """
    together, peak = collections.Counter(), collections.Counter()
    for container in spec.get('initContainers') or ():
        amounts = _parse(container, get)
        peak |= together + amounts
        # Others end before the next one starts.
        if container.get('restartPolicy') == 'Always':
            together += amounts
    for container in spec.get('containers') or ():
        together += _parse(container, get)
    return together | peak


def simplify(amount):
    """:return: the amount as a number for JSON."""
    return int(amount) if amount == int(amount) else round(float(amount), 3)


def _parse(container, get):
    return collections.Counter({
        resource: parse(amount) for resource, amount
        in get(container.get('resources') or {}).items()})
