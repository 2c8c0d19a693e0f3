"""Checks of a configuration against the cloud, before it is used."""

from collections.abc import Callable, Hashable, Iterable, Iterator
import dataclasses
import functools
from typing import Never

from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes.drivers.api.labels import forNode, getOwn, getZones


@dataclasses.dataclass(frozen=True)
class Found:
    """The answer that nothing is wrong, and what the cloud has.

    It is false, as is the empty string.

    :ivar name: what a name or a size of the configuration stands for, such as
        the flavor that ``min-ram`` chooses, or the id of an image.
    """

    name: str

    def __bool__(self) -> bool:
        return False


@dataclasses.dataclass(frozen=True)
class Check:
    """Checks one object of a cloud that a configuration names.

    :ivar subject: the kind of the object: ``image``, ``flavor``, ``network``,
        ``key``, ``zone``, ``permission``, ``quota``, …
    :ivar name: the name of the object in the cloud.
    :ivar used_by: the object of the configuration that names it, such
        as ``label debian``.
    :ivar ask: asks the cloud.  Returns a sentence with the problem and its
        solution, an empty string, or :class:`Found`.  An exception is a
        problem as well: a :class:`DriverError`, an ``OSError`` and those of
        a library as an answer of the cloud, and those of Python as a mistake
        in the check.
    :ivar question: other values that the answer depends on.  An endpoint is
        asked once for checks with equal subject, name and question, however
        many labels and providers name the object.
    :ivar access: whether the check tests the credentials.  If it finds a
        problem, the other checks of the endpoint are skipped; they are not
        skipped for a mistake in this check.
    """

    subject: str
    name: str
    used_by: str
    ask: Callable[[], str | Found]
    question: Hashable = ()
    access: bool = False


def getViews(
        provider: BaseProvider
) -> Iterator[tuple[BaseProvider, BaseProviderLabel]]:
    """Find the variants of a provider that its labels need.

    :param provider: of any driver.
    :return: yields, for each label and each zone that the label names, the
        provider with the label's attributes, and the label of that view.
    """
    for name, label in provider.labels.items():
        for zone in getZones(label) or ['']:
            view = forNode(provider, name, zone)
            yield view, view.labels[name]


def makeForLabels(
        provider: BaseProvider,
        make: Callable[[BaseProvider, BaseProviderLabel], Iterable[Check]]
) -> Iterator[Check]:
    """Create the checks of each label.

    :param provider: of any driver.
    :param make: called with each variant of the provider and its label, as
        :func:`getViews` returns them; returns the checks of the label.
    :return: yields the checks.  If they cannot be created for a label, one
        that fails with the reason, so that the others are asked.
    """
    for view, label in getViews(provider):
        try:
            yield from make(view, label)
        except Exception as error:
            yield Check('label', label.name, f'provider {provider.name}',
                        functools.partial(_fail, error))


def _fail(error: Exception) -> Never:
    raise error


def getUser(label: BaseProviderLabel, kind: str) -> str:
    """Find the object that sets the attributes of a label's image or flavor.

    :param label: of any driver.
    :param kind: ``image`` or ``flavor``.
    :return: a description of the object, for ``used_by``.
    """
    user = f'{kind} {getattr(label, kind)}'
    return f'{user} of label {label.name}' if kind in getOwn(label) else user
