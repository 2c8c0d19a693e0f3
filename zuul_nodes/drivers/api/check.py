"""What a cloud can be asked about a configuration, before it is used."""

import collections.abc
import dataclasses
import functools

from zuul_nodes.drivers.api.labels import forNode, getOwn, getZones
from zuul_nodes.drivers.api.memory import LIFETIME
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
    :ivar question: what the answer depends on beside subject and name,
        hashable: an endpoint is asked once if these three are equal,
        however many labels and providers name it.
    :ivar bool access: whether nothing else need be asked of the endpoint if
        this finds something wrong, as Zuul is not let in then.
    """

    subject: str
    name: str
    used_by: str
    ask: collections.abc.Callable[[], str]
    question: collections.abc.Hashable = ()
    access: bool = False


def getViews(provider):
    """
    :param BaseProvider provider: of any driver.
    :return: yields the provider as it makes the nodes of each label, in each
        of the zones that the label names, and the label of that view.
    """
    for name, label in provider.labels.items():
        for zone in getZones(label) or ['']:
            view = forNode(provider, name, zone)
            yield view, view.labels[name]


def getUser(label, kind):
    """
    :param ProviderLabel label: of any driver.
    :param str kind: ``image`` or ``flavor``.
    :return: what names the attributes of the label's image or flavor, for
        ``used_by``.
    """
    user = f'{kind} {getattr(label, kind)}'
    return f'{user} of label {label.name}' if kind in getOwn(label) else user


def makeChecks(provider):
    """What any adapter can be asked, and what this one is asked besides.

    :param AdapterProvider provider:
    :return: yields a :class:`Check` for each thing that a label names; the
        cloud is not asked before their ``ask`` is called.
    """
    endpoint = provider.getEndpoint()

    def call(name, *args):
        endpoint.start()
        return endpoint.calls.call(name, *args)

    def callOnce(name):
        return endpoint.memory.get(name, lambda: call(name), LIFETIME)

    yield Check('permission', 'list instances',
                f'connection {provider.connection_name}',
                functools.partial(call, 'checkAccess'), access=True)
    for view, label in getViews(provider):
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


def _startAndAsk(endpoint, check):
    endpoint.start()
    return check.ask()


def _askZone(callOnce, endpoint, zone):
    if Ability.ZONES not in endpoint.abilities:
        return 'The cloud has no zones'
    zones = callOnce('listZones')
    return '' if zone in zones else (
        f'There is no such zone; there are {", ".join(sorted(zones))}')


def _askQuota(call, callOnce, endpoint, spec, zones):
    """:return: of what one node takes more than there can be."""
    if any(_askZone(callOnce, endpoint, zone) for zone in zones):
        # What a node takes can't be known there; that question says so.
        return ''
    needs = (call('getNeeds', spec) if Ability.NEEDS in endpoint.abilities
             else {'instances': 1})
    said = [_compare(needs, spec.provider.resource_limits,
                     '"resource-limits" of the provider allow')]
    if Ability.LIMITS in endpoint.abilities:
        said.append(_compare(needs, callOnce('getLimits'), 'the cloud allows'))
    return '; '.join(filter(None, said))


def _compare(needs, limits, allow):
    return '; '.join(
        f'One node takes {needed:g} of "{resource}", and {allow} '
        f'{limits[resource]:g}' for resource, needed in needs.items()
        if needed > limits.get(resource, needed))
