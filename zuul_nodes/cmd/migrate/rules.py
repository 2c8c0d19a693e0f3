"""Rules: what becomes of an attribute of Nodepool.

A driver has tables of them, one for each kind of object; see
:class:`Driver`.  :func:`convert` applies a table to an object.
"""

from collections.abc import Callable
import dataclasses
import difflib
import enum
import functools
from typing import Any

from zuul_nodes.cmd.migrate import faults
from zuul_nodes.cmd.migrate.report import Kind
from zuul_nodes.cmd.migrate.tree import Mapping, getOrigin


class Place(enum.Enum):
    """Where an attribute goes in the new configuration."""
    SECTION = enum.auto()
    PROVIDER = enum.auto()
    LIMITS = enum.auto()
    LABEL_DEFAULTS = enum.auto()
    FLAVOR_DEFAULTS = enum.auto()
    IMAGE_DEFAULTS = enum.auto()
    IMAGE = enum.auto()
    FLAVOR = enum.auto()
    LABEL = enum.auto()
    LABEL_STANZA = enum.auto()


class Unfit(Exception):
    """A value cannot be converted; the message says why, without it."""


@dataclasses.dataclass(frozen=True)
class To:
    """The attribute has a counterpart.

    :ivar str name: by default the same name.
    :ivar convert: function of the value; raises :class:`Unfit`.
    :ivar str changes: in what its meaning changes.
    """
    place: Place
    name: str | None = None
    convert: Callable[[Any], Any] | None = None
    changes: str | None = None

    def apply(self, key, value, origin, context):
        if value is None:
            return
        if self.convert:
            try:
                value = self.convert(value)
            except Unfit as error:
                context.add(Kind.DECIDE, f'"{key}": {error}', origin)
                return
            except (TypeError, ValueError, AttributeError, LookupError):
                context.add(Kind.DECIDE, f'"{key}" is left out, for its '
                            f'value is not of the expected type', origin)
                return
        if value is None:
            return
        name = self.name or key
        value = context.fit(key, name, value, origin)
        if value is None:
            return
        if self.changes:
            context.add(Kind.CHANGED, f'"{key}": {self.changes}', origin)
        context.parts[self.place].put(name, value, origin)


@dataclasses.dataclass(frozen=True)
class Merged(To):
    """The value is a mapping, whose keys become attributes themselves."""

    def apply(self, key, value, origin, context):
        if not isinstance(value, Mapping):
            context.add(Kind.DECIDE, f'"{key}" is not a mapping', origin)
            return
        for name in value:
            super().apply(name, value[name], getOrigin(value, name), context)


@dataclasses.dataclass(frozen=True)
class Remark:
    """The attribute has no counterpart.

    :ivar when: function of the value; whether there is anything to say.
    """
    kind: Kind
    text: str
    when: Callable[[Any], bool] = lambda value: True

    def apply(self, key, value, origin, context):
        if value is not None and self.when(value):
            context.add(self.kind, f'"{key}": {self.text}', origin)


def lost(text, **kwargs):
    return Remark(Kind.LOST, text, **kwargs)


def decide(text, **kwargs):
    return Remark(Kind.DECIDE, text, **kwargs)


class _Handled:
    """Other code reads the attribute."""

    def apply(self, key, value, origin, context):
        pass


HANDLED = _Handled()


@dataclasses.dataclass(frozen=True)
class Default:
    """What Nodepool takes if nothing is said, and Zuul does not.

    :ivar bool of_uploads: whether it matters only to images that are
        uploaded.
    """
    place: Place
    name: str
    value: Any
    of_uploads: bool = False


@dataclasses.dataclass(frozen=True)
class Driver:
    """What becomes of a driver of Nodepool.

    :ivar str driver: the driver in ``zuul.conf``, or None if its nodes need
        no connection.
    :ivar connection: function of the attributes of a provider, that returns
        the name of the connection and its options, a Mapping.
    :ivar dict provider, pool, label, cloud_image, diskimage: attribute ->
        rule.
    :ivar tuple defaults: of providers, and pool_defaults, label_defaults.
    :ivar tuple inherited: attributes of providers that count for each pool
        that does not have them itself.
    :ivar complete: function that completes the converted label:
        ``complete(parts, label, pool)``.
    :ivar complete_image: function that completes the converted image:
        ``complete_image(parts, image)``.
    :ivar bool has_images: whether labels need images and flavors.
    """
    driver: str | None
    connection: Callable
    provider: dict
    pool: dict
    label: dict
    cloud_image: dict = dataclasses.field(default_factory=dict)
    diskimage: dict = dataclasses.field(default_factory=dict)
    defaults: tuple = ()
    pool_defaults: tuple = ()
    label_defaults: tuple = ()
    inherited: tuple = ()
    complete: Callable | None = None
    complete_image: Callable | None = None
    has_images: bool = True

    def convert(self, table, source, subject, report, known=()):
        """:return: the :class:`Parts` of an object; see :func:`convert`."""
        return convert(table, source, subject, report, known,
                       functools.partial(faults.find, self.driver))


class Parts(dict):
    """Place -> Mapping of the attributes that go there."""

    def __missing__(self, place):
        self[place] = Mapping()
        return self[place]


class _Context:

    def __init__(self, parts, subject, report, find_fault):
        self.parts = parts
        self._subject = subject
        self._report = report
        self._find_fault = find_fault

    def fit(self, key, name, value, origin):
        """:return: the value, one that is valid, or None."""
        fault = self._find_fault and self._find_fault(name, value)
        if not fault:
            return value
        fitting = faults.clamp(name, value)
        if fitting is None or self._find_fault(name, fitting):
            self.add(Kind.DECIDE, f'"{key}" is left out, for "{name}" does '
                     f'not take its value: {fault}', origin)
            return None
        self.add(Kind.CHANGED, f'"{key}" becomes {fitting}: {fault}', origin)
        return fitting

    def add(self, kind, text, origin):
        self._report.add(kind, text, origin, self._subject)


def convert(rules, source, subject, report, known=(), find_fault=None):
    """Apply rules to an object.

    :param dict rules: attribute -> rule.
    :param Mapping source: the object.
    :param str subject: what it is, for the report.
    :param known: attributes that Nodepool has elsewhere, for suggestions.
    :param find_fault: function of the name and the value of a new attribute,
        that returns what is wrong with it, or None.
    :return: the :class:`Parts`.
    """
    parts = Parts()
    context = _Context(parts, subject, report, find_fault)
    for key, value in source.items():
        origin = getOrigin(source, key)
        name = key if key in rules else key.replace('_', '-')
        if name not in rules:
            near = difflib.get_close_matches(key, [*rules, *known], 1, 0.8)
            hint = f'; did you mean "{near[0]}"?' if near else ''
            context.add(
                Kind.LOST, f'"{key}": Nodepool has no such attribute '
                f'here{hint}', origin)
            continue
        if name != key and value is not None:
            context.add(Kind.CHANGED, f'"{key}" is taken for "{name}"',
                        origin)
        rules[name].apply(name, value, origin, context)
    return parts


def addDefaults(parts, defaults):
    """Add what Nodepool takes if nothing is said."""
    for default in defaults:
        attributes = parts[default.place]
        if default.name not in attributes:
            attributes.put(default.name, default.value)
