"""The parts that a provider is combined from.

A chain of stanzas, the oldest section first and the provider last, sets
attributes of the provider, of all its nodes, and of single images, flavors
and labels.
"""

import dataclasses
import math
import typing

from zuul_nodes.configloader.errors import (
    AttributePlaceError,
    AttributeValueError,
    FinalError,
    UnknownAttributeError,
    UnknownNameError,
    describe,
    explainMisplaced,
    explainUnknown,
)
from zuul_nodes.configloader.flattening.precedence import (
    Level,
    Source,
    fillIn,
    merge,
)
from zuul_nodes.configloader.flattening.spellings import spell
from zuul_nodes.configloader.flattening.vocabulary import (
    FINAL,
    OF_A_NODE,
    OF_ANY_IMAGE,
    PROVIDER_ALONE,
    STRUCTURE,
)
from zuul_nodes.configloader.plain import Replacement
from zuul_nodes.suggestions import suggest

KINDS = ('image', 'flavor', 'label')
RETAIN_LIMIT = 'max-retain-count'
LISTS = frozenset(f'{kind}s' for kind in KINDS)


class Levels(typing.NamedTuple):
    """The levels at which the attributes of one kind of object are set."""
    stanza: Level
    defaults: Level
    in_section: Level
    in_provider: Level


LEVELS = {
    'image': Levels(Level.IMAGE, Level.IMAGE_DEFAULTS,
                    Level.IMAGE_IN_SECTION, Level.IMAGE_IN_PROVIDER),
    'flavor': Levels(Level.FLAVOR, Level.FLAVOR_DEFAULTS,
                     Level.FLAVOR_IN_SECTION, Level.FLAVOR_IN_PROVIDER),
    'label': Levels(Level.LABEL, Level.LABEL_DEFAULTS,
                    Level.LABEL_IN_SECTION, Level.LABEL_IN_PROVIDER),
}


@dataclasses.dataclass
class Part:
    """An image, a flavor or a label, with its settings in one provider.

    ``structure``
        name, description, type, image and flavor, as far as they apply.
    ``final``
        the value of "final" that applies to the part; None if not set.
    ``ceiling``
        the depth below which no setting changes the part.
    ``sources``
        the sources of its attributes: stanza, defaults and entries.
    """
    kind: str
    stanza: object
    structure: dict
    final: object = None
    ceiling: float = math.inf
    sources: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        return self.stanza.name


class Parts:
    """Reads a chain of stanzas.

    :param list chain: sections, the oldest first, and the provider.
    :param Layout layout: the tenant's objects.
    :param Vocabulary vocabulary: the attributes that the driver knows.
    :param str driver_name: for messages.
    :param OtherDrivers others: the other drivers of the tenant.
    :raises ConfigurationSyntaxError: a stanza names something that the tenant
        or the driver does not know, or changes a final part.

    ``settings``
        the attributes of the provider itself, a dict.
    ``section_settings``
        the same without those that the provider's stanza sets.
    ``provider_sources``
        a list with the :class:`Source` of the provider's attributes in each
        stanza.
    ``bodies``
        the same for attributes of all nodes.
    ``image``, ``flavor``, ``label``
        dicts of the parts by name.
    """

    def __init__(self, chain, layout, vocabulary, driver_name, others):
        self.provider_config = chain[-1]
        self.layout = layout
        self.vocabulary = vocabulary
        self.driver_name = driver_name
        self.others = others
        self.settings, self.section_settings = {}, {}
        self.provider_sources = []
        self.bodies = []
        # kind -> name -> [(depth, config object, entry, its line)]
        self._entries = {kind: {} for kind in KINDS}
        # kind -> [(depth, config object, the defaults of the kind, their
        # line)]
        self._defaults = {kind: [] for kind in KINDS}
        self._depth = len(chain)
        # Sections above the one with the connection may serve several
        # drivers.
        self._connection_depth = next(
            depth for depth, config_object in enumerate(chain, 1)
            if config_object.config.get('connection'))
        for depth, config_object in enumerate(chain, 1):
            self._read(depth, config_object)
        self.image, self.flavor, self.label = (
            {name: self._makePart(kind, name, entries)
             for name, entries in self._entries[kind].items()}
            for kind in KINDS)

    def addLabel(self, name):
        """Add a label as if the provider listed it."""
        if name not in self.label:
            self.label[name] = self._makePart('label', name, [
                (self._depth, self.provider_config, {'name': name}, None)])

    def _read(self, depth, config_object):
        config = self._take(config_object.config, depth, config_object)
        body, settings = {}, {}
        for name, value in config.items():
            if name in LISTS:
                continue
            if name in self.vocabulary.known and name not in PROVIDER_ALONE:
                body[name] = value
            if name in self.vocabulary.provider:
                settings[name] = value
            elif (name not in self.vocabulary.known
                    or self.vocabulary.findProperKinds(name, 'provider')):
                self._refuseAttribute(
                    name, 'provider', f'The {describe(config_object)}',
                    self.vocabulary.known | self.vocabulary.provider)
        self.section_settings = self.settings
        for kind in KINDS:
            self._readDefaults(kind, settings, depth, config_object)
        self.settings = merge(self.settings, settings)
        level = (Level.PROVIDER if config_object is self.provider_config
                 else Level.SECTION)
        self.provider_sources.append(
            Source(level, depth, config_object, settings))
        self.bodies.append(Source(level, depth, config_object, body))
        for kind in KINDS:
            self._readEntries(kind, config.get(f'{kind}s', []), depth,
                              config_object)

    def _take(self, attributes, depth, origin):
        """Select the attributes that concern the driver.

        Where several drivers read a stanza, attributes of the other drivers
        are skipped.

        :param dict attributes: names and values as written.
        :return: the attributes, under the names that the driver knows.
        """
        if depth < self._connection_depth:
            attributes = {
                name: value for name, value in attributes.items()
                if self.vocabulary.knows(name)
                or not self.others.know(name)}
        return spell(attributes, self.vocabulary.spellings, origin)

    def _readDefaults(self, kind, settings, depth, config_object):
        key = f'{kind}-defaults'
        if key not in settings:
            return
        if not isinstance(settings[key], dict):
            raise AttributeValueError(
                f'The {describe(config_object)} has a "{key}" that is not a '
                f'mapping. Write a mapping of attributes to values')
        line = getattr(settings[key], 'line', None)
        settings[key] = self._take(settings[key], depth, config_object)
        known = set(self.vocabulary.inheritable[kind])
        for name in settings[key]:
            if name not in known:
                self._refuseAttribute(
                    name, kind,
                    f'"{key}" of the {describe(config_object, line)}', known)
        if kind == 'image':
            _checkRetainCount(self.settings.get(key, {}), settings[key],
                              config_object, 'all images')
        self._defaults[kind].append(
            (depth, config_object, settings[key], line))

    def _readEntries(self, kind, entries, depth, config_object):
        if isinstance(entries, Replacement):
            # The named entries of sections above stay; the others go.
            names = [entry.get('name') for entry in entries]
            self._entries[kind] = {
                name: above for name, above in self._entries[kind].items()
                if name in names}
        for entry in entries:
            self._readEntry(kind, entry, depth, config_object)

    def _readEntry(self, kind, entry, depth, config_object):
        name = checkName(kind, entry, config_object)
        known = getattr(self.layout, f'{kind}s')
        if name not in known:
            if self._isOfOtherProject(config_object):
                # A central section serves several tenants.  Each tenant gets
                # the entries for the objects that it has.
                return
            raise UnknownNameError(explainUnknown(
                f'The {describe(config_object)}', kind, name, known))
        entries = self._entries[kind].setdefault(name, [])
        if entries and entries[-1][0] == depth:
            # If one stanza lists a name twice, the last entry counts, as in
            # Zuul.
            entries.pop()
        entries.append((
            depth, config_object, self._take(entry, depth, config_object),
            getattr(entry, 'line', None)))

    def _isOfOtherProject(self, config_object):
        return not config_object.source_context.isSameProject(
            self.provider_config.source_context)

    def _makePart(self, kind, name, entries):
        stanza = getattr(self.layout, f'{kind}s')[name]
        part = Part(kind, stanza, {
            key: value for key in STRUCTURE[kind]
            if (value := getattr(stanza, key)) is not None})
        own = self._take(stanza.attributes, 0, stanza)
        part.sources.append(Source(LEVELS[kind].stanza, 0, stanza, own))
        for depth, config_object, entry, line in entries:
            last = self._addEntry(part, own, depth, config_object, entry,
                                  line)
            own = merge(own, last)
        for source in part.sources:
            self._checkAttributes(part, source)
        if part.final is None:
            part.final = self._getDefault(kind, self._depth)
        self._addDefaults(part, own)
        if kind == 'image':
            self._lowerRetainLimit(part, own, last)
        return part

    def _addEntry(self, part, own, depth, config_object, entry, line):
        """Apply the entry of one stanza to a part.

        :param dict own: the attributes of the object's stanza and of the
            entries above.
        :return: the attributes that this entry sets.
        """
        self._checkFinal(part, config_object, line)
        structure = STRUCTURE[part.kind]
        for key in structure & entry.keys():
            _checkStructure(part, key, entry[key], config_object)
            part.structure[key] = entry[key]
        default = self._getDefault(part.kind, depth)
        part.final = entry.get(FINAL, default or None)
        part.ceiling = depth if part.final or default else math.inf
        attributes = {key: value for key, value in entry.items()
                      if key != FINAL and key not in structure}
        if part.kind == 'image':
            _checkRetainCount(own, attributes, config_object,
                              f'the image "{part.name}"')
        levels = LEVELS[part.kind]
        level = (levels.in_provider if config_object is self.provider_config
                 else levels.in_section)
        part.sources += (
            Source(level, depth, config_object, values, line)
            for level, values in self._split(level, attributes))
        return attributes

    def _addDefaults(self, part, own):
        inheritable = self.vocabulary.inheritable[
            part.structure['type'] if part.kind == 'image' else part.kind]
        for depth, config_object, defaults, line in self._defaults[part.kind]:
            if depth <= part.ceiling:
                values = {key: value for key, value in defaults.items()
                        if key in inheritable and key != FINAL}
                part.sources.append(Source(
                    LEVELS[part.kind].defaults, depth, config_object,
                    fillIn(values, own), line))

    def _split(self, level, attributes):
        """Split an entry of a provider by the strength of its attributes.

        In Zuul, an attribute in the stanza of a label or a flavor is stronger
        than the same attribute in an entry for the image.  Attributes that
        only images have are stronger than the provider's attributes for all
        nodes.

        :return: [(level, attributes)]
        """
        if level != Level.IMAGE_IN_PROVIDER:
            return [(level, attributes)]
        shared = attributes.keys() & self.vocabulary.label
        return [(Level.IMAGE_IN_SECTION,
                 {key: attributes[key] for key in shared}),
                (level, {key: value for key, value in attributes.items()
                         if key not in shared})]

    def _lowerRetainLimit(self, part, own, last):
        """Let a default lower a limit that is set above it, as Zuul does.

        :param dict own: the attributes of the stanza and the entries.
        :param dict last: the attributes of the last entry.
        """
        limit = own.get(RETAIN_LIMIT)
        if RETAIN_LIMIT in last or not isinstance(limit, int):
            return
        for depth, config_object, defaults, line in self._defaults['image']:
            lower = defaults.get(RETAIN_LIMIT)
            if (isinstance(lower, int) and lower < limit
                    and depth <= part.ceiling):
                part.sources.append(Source(
                    Level.IMAGE_IN_PROVIDER, depth, config_object,
                    {RETAIN_LIMIT: lower}, line))

    def _getDefault(self, kind, depth):
        """:return: the default of "final" for a kind; None if not set."""
        return next((defaults[FINAL] for where, _, defaults, _
                     in reversed(self._defaults[kind])
                     if where <= depth and FINAL in defaults), None)

    def _checkFinal(self, part, config_object, line):
        if part.final and part.final != 'allow-override':
            above = part.sources[-1]
            raise FinalError(
                f'The {describe(config_object, line)} has an entry for the '
                f'{part.kind} "{part.name}", but the '
                f'{describe(above.origin, above.line)} makes it final. Remove '
                f'the entry, or write "final: allow-override" there')

    def _checkAttributes(self, part, source):
        known = self.vocabulary.known
        if part.kind == 'image':
            # An attribute of the other type of image is misplaced here.
            known = (self.vocabulary.label | self.vocabulary.flavor
                     | OF_A_NODE | getattr(self.vocabulary,
                                           part.structure['type']))
        if part.kind == 'image' and source.origin is part.stanza:
            known |= OF_ANY_IMAGE
        for name in source.attributes:
            if name in known and not self.vocabulary.findProperKinds(
                    name, part.kind):
                continue
            what = f'The {describe(part.stanza)}'
            if source.origin is not part.stanza:
                what = (f'The entry for the {part.kind} "{part.name}" of '
                        f'the {describe(source.origin, source.line)}')
            elif name == FINAL:
                raise UnknownAttributeError(
                    f'{what} has the attribute "final", which only an entry '
                    f'in a section or a provider can have. Move it there')
            self._refuseAttribute(name, part.kind, what, known)

    def _refuseAttribute(self, name, kind, what, known):
        if self.vocabulary.knows(name) and (
                kinds := self.vocabulary.findProperKinds(name, kind)):
            raise AttributePlaceError(
                f'{what} {explainMisplaced(name, kind, kinds)}')
        raise UnknownAttributeError(
            f'{what} has the attribute "{name}", which the driver '
            f'{self.driver_name} of the {describe(self.provider_config)} '
            f'does not know. {suggest(name, known)}')


def checkName(kind, entry, config_object):
    """
    :param dict entry: of a section or a provider, for an object of the kind.
    :param config_object: the section or the provider.
    :return: the name in the entry.
    :raises UnknownNameError: there is none.
    """
    name = entry.get('name')
    if not isinstance(name, str):
        raise UnknownNameError(
            f'The {describe(config_object)} has an entry in "{kind}s" '
            f'without the name of a {kind}')
    return name


def _checkStructure(part, key, value, origin):
    right = {'type': lambda: value in ('cloud', 'zuul'),
             'description': lambda: True}.get(
                 key, lambda: isinstance(value, str))
    if not right():
        raise AttributeValueError(
            f'The entry for the {part.kind} "{part.name}" of the '
            f'{describe(origin)} has an invalid value for "{key}". ' + (
                'Write "cloud" or "zuul"' if key == 'type'
                else f'Write the name of a {key}'))


def _checkRetainCount(above, below, origin, what):
    """Apply Zuul's rule that a limit can be lowered and never raised."""
    limit, wanted = above.get(RETAIN_LIMIT), below.get(RETAIN_LIMIT)
    if isinstance(limit, int) and isinstance(wanted, int) and wanted > limit:
        raise FinalError(
            f'The {describe(origin)} raises the "{RETAIN_LIMIT}" of {what} to '
            f'{wanted}, but above it is {limit}. Lower it to at most {limit}')
