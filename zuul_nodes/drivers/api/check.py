"""What a cloud can be asked about a configuration, before it is used."""

from collections.abc import Callable, Hashable, Iterator
import dataclasses

from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes.drivers.api.labels import forNode, getOwn, getZones


@dataclasses.dataclass(frozen=True)
class Check:
    """Something that a configuration names, and that a cloud should have.

    :ivar subject: what it is: ``image``, ``flavor``, ``network``,
        ``key``, ``zone``, ``permission``, ``quota``, …
    :ivar name: as the cloud should know it.
    :ivar used_by: the object of the configuration that names it, such
        as ``label debian``.
    :ivar ask: asks the cloud.  Returns a sentence
        that says what is wrong and what would be right, or an empty string.
        Whatever it raises is wrong, too.
    :ivar question: what the answer depends on beside subject and name: an
        endpoint is asked once if these three are equal,
        however many labels and providers name it.
    :ivar access: whether nothing else need be asked of the endpoint if
        this finds something wrong, as Zuul is not let in then.
    """

    subject: str
    name: str
    used_by: str
    ask: Callable[[], str]
    question: Hashable = ()
    access: bool = False


def getViews(
        provider: BaseProvider
) -> Iterator[tuple[BaseProvider, BaseProviderLabel]]:
    """
    :param provider: of any driver.
    :return: yields the provider as it makes the nodes of each label, in each
        of the zones that the label names, and the label of that view.
    """
    for name, label in provider.labels.items():
        for zone in getZones(label) or ['']:
            view = forNode(provider, name, zone)
            yield view, view.labels[name]


def getUser(label: BaseProviderLabel, kind: str) -> str:
    """
    :param label: of any driver.
    :param kind: ``image`` or ``flavor``.
    :return: what names the attributes of the label's image or flavor, for
        ``used_by``.
    """
    user = f'{kind} {getattr(label, kind)}'
    return f'{user} of label {label.name}' if kind in getOwn(label) else user
