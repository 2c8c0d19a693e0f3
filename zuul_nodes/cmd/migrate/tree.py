"""Mappings and lists of YAML that know where they come from.

The same classes hold what is read and what is written, so a value that moves
from one to the other takes its comments along.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Comment:
    """One line of a comment.

    :ivar str text: begins with ``#``.
    """
    text: str
    file: str
    line: int


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a value is written, and the comments that belong to it.

    :ivar int line: counted from 1.
    :ivar tuple above: the :class:`Comment` lines directly above.
    :ivar Comment inline: the comment at the end of the line, or None.
    """
    file: str = ''
    line: int = 0
    above: tuple = ()
    inline: Comment | None = None

    def __str__(self):
        return f'{self.file}:{self.line}' if self.line else self.file

    @property
    def comments(self):
        return (*self.above, *filter(None, [self.inline]))

    def withoutComments(self):
        return Origin(self.file, self.line)


NOWHERE = Origin()


class Mapping(dict):
    """A mapping; :attr:`origins` has the :class:`Origin` of each key.

    :ivar Origin origin: of the mapping itself.
    """

    def __init__(self, values=(), origin=NOWHERE):
        super().__init__(values)
        self.origins = {}
        self.origin = origin

    def put(self, key, value, origin=NOWHERE):
        """Set a value.  Its comments replace those of an earlier value."""
        self[key] = value
        self.origins[key] = origin

    def take(self, other):
        """Set all values of another mapping, with their origins."""
        for key, value in other.items():
            self.put(key, value, getOrigin(other, key))


class Sequence(list):
    """A list; :attr:`origins` has the :class:`Origin` of each item.

    :ivar Origin origin: of the list itself.
    """

    def __init__(self, values=(), origin=NOWHERE):
        super().__init__(values)
        self.origins = [NOWHERE] * len(self)
        self.origin = origin

    def add(self, value, origin=NOWHERE):
        self.append(value)
        self.origins.append(origin)


def getOrigin(parent, key):
    """
    :param parent: a mapping or a list, of any class.
    :param key: a key or an index of it.
    :return: the :class:`Origin` of that value.
    """
    origins = getattr(parent, 'origins', {})
    if isinstance(origins, dict):
        return origins.get(key, NOWHERE)
    return origins[key] if key < len(origins) else NOWHERE


def iterate(sequence):
    """:return: yields (item, its origin)."""
    for number, item in enumerate(sequence or ()):
        yield item, getOrigin(sequence, number)
