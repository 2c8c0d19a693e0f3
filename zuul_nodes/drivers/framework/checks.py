"""Checks of the configuration that work with any adapter."""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from zuul.provider import BaseProviderLabel

from zuul_nodes.drivers.api.check import Check, Found, makeForLabels
from zuul_nodes.drivers.api.labels import getZones
from zuul_nodes.drivers.api.model import Ability, InstanceSpec
from zuul_nodes.drivers.framework.endpoint import EndpointWithAdapter
from zuul_nodes.drivers.framework.memory import LIFETIME

if TYPE_CHECKING:
    from zuul_nodes.drivers.framework.provider import ProviderWithAdapter


def makeChecks(provider: 'ProviderWithAdapter') -> Iterator[Check]:
    """Create the checks of any adapter, and those that this one adds.

    :return: yields one check for each object that a label names.  Nothing
        calls the cloud before their ``ask`` is called.
    """
    endpoint = provider.getEndpoint()

    def call(name: str, *args: Any) -> Any:
        endpoint.startForChecks()
        return endpoint.calls.call(name, *args)

    def callOnce(name: str) -> Any:
        return endpoint.memory.get(name, lambda: call(name), LIFETIME)

    yield Check('permission', 'list instances',
                f'connection {provider.connection_name}',
                functools.partial(call, 'checkAccess'), access=True)

    def makeForLabel(view: 'ProviderWithAdapter',
                     label: BaseProviderLabel) -> Iterator[Check]:
        spec = view.makeSpec(label)
        zones = getZones(label)
        user = f'label {label.name}'
        for zone in zones:
            yield Check('zone', zone, user, functools.partial(
                _askZone, callOnce, endpoint, zone))
        yield Check('quota', label.name, user, functools.partial(
            _askQuota, call, callOnce, endpoint, spec, zones),
            question=provider.canonical_name)
        for check in endpoint.adapter.getChecks(spec):
            yield dataclasses.replace(check, ask=functools.partial(
                _startAndAsk, endpoint, check))

    yield from makeForLabels(provider, makeForLabel)


def _startAndAsk(endpoint: EndpointWithAdapter, check: Check) -> str | Found:
    endpoint.startForChecks()
    return check.ask()


def _askZone(callOnce: Callable[[str], Any], endpoint: EndpointWithAdapter,
             zone: str) -> str:
    if Ability.ZONES not in endpoint.abilities:
        return 'The cloud has no zones'
    zones = callOnce('listZones')
    return '' if zone in zones else (
        f'There is no such zone; the zones are {", ".join(sorted(zones))}')


def _askQuota(call: Callable[..., Any], callOnce: Callable[[str], Any],
              endpoint: EndpointWithAdapter, spec: InstanceSpec,
              zones: list[str]) -> str:
    """:return: a sentence for each resource of which one node needs too much.
    """
    if any(_askZone(callOnce, endpoint, zone) for zone in zones):
        # The needs are unknown in a missing zone, which another check reports.
        return ''
    needs = (call('getNeeds', spec) if Ability.NEEDS in endpoint.abilities
             else {'instances': 1})
    said = [_compare(needs, spec.provider.resource_limits,
                     '"resource-limits" of the provider allow')]
    if Ability.LIMITS in endpoint.abilities:
        said.append(_compare(needs, callOnce('getLimits'), 'the cloud allows'))
    return '; '.join(filter(None, said))


def _compare(needs: Mapping[str, float], limits: Mapping[str, float],
             allow: str) -> str:
    return '; '.join(
        f'One node needs {needed:g} of "{resource}", but {allow} '
        f'{limits[resource]:g}' for resource, needed in needs.items()
        if needed > limits.get(resource, needed))
