"""What a cloud can be asked about a configuration, before it is used."""

import collections.abc
import dataclasses


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
