"""What a cloud can be asked about a configuration, before it is used."""

import collections.abc
import dataclasses
import functools

from zuul_nodes.drivers.api.labels import forNode, getZones
from zuul_nodes.drivers.api.model import Ability


@dataclasses.dataclass(frozen=True)
class Check:
    """Something that a configuration names, and that a cloud should have.

    :ivar str subject: what it is: ``image``, ``flavor``, ``network``,
        ``key``, ``zone``, ``permission``, ``quota``, …
    :ivar str name: as the cloud should know it.
    :ivar str used_by: the object of the configuration that names it, such
        as ``label debian``.
    :ivar ask: asks the cloud; called without arguments.  Returns a sentence
        that says what is wrong and what would be right, or an empty string.
        Whatever it raises is wrong, too.
    """

    subject: str
    name: str
    used_by: str
    ask: collections.abc.Callable[[], str]


def makeChecks(provider):
    """What any adapter can be asked, and what this one is asked besides.

    :param AdapterProvider provider:
    :return: yields a :class:`Check` for each thing; the cloud is not asked
        before their ``ask`` is called.
    """
    endpoint = provider.getEndpoint()

    def call(name, *args):
        endpoint.start()
        return endpoint.calls.call(name, *args)

    yield Check('permission', 'list instances',
                f'connection {provider.connection_name}',
                functools.partial(call, 'checkAccess'))
    seen = set()
    for name in provider.labels:
        view = forNode(provider, name, '')
        spec = view.makeSpec(view.labels[name])
        zones = getZones(provider.labels[name])
        for zone in zones:
            yield Check('zone', zone, f'label {name}', functools.partial(
                _askZone, call, endpoint, zone))
        yield Check('quota', name, f'label {name}', functools.partial(
            _askQuota, call, endpoint, spec, zones))
        for check in endpoint.adapter.getChecks(spec):
            key = check.subject, check.name, check.used_by
            if key not in seen:
                seen.add(key)
                yield dataclasses.replace(check, ask=functools.partial(
                    _startAndAsk, endpoint, check))


def _startAndAsk(endpoint, check):
    endpoint.start()
    return check.ask()


def _askZone(call, endpoint, zone):
    if Ability.ZONES not in endpoint.abilities:
        return 'The cloud has no zones'
    zones = call('listZones')
    return '' if zone in zones else (
        f'There is no such zone; there are {", ".join(sorted(zones))}')


def _askQuota(call, endpoint, spec, zones):
    """:return: of what one node takes more than there can be."""
    if any(_askZone(call, endpoint, zone) for zone in zones):
        # What a node takes can't be known there; that question says so.
        return ''
    needs = (call('getNeeds', spec) if Ability.NEEDS in endpoint.abilities
             else {'instances': 1})
    said = [_compare(needs, spec.provider.resource_limits,
                     '"resource-limits" of the provider allow')]
    if Ability.LIMITS in endpoint.abilities:
        said.append(_compare(needs, call('getLimits'), 'the cloud allows'))
    return '; '.join(filter(None, said))


def _compare(needs, limits, allow):
    return '; '.join(
        f'One node takes {needed:g} of "{resource}", and {allow} '
        f'{limits[resource]:g}' for resource, needed in needs.items()
        if needed > limits.get(resource, needed))
