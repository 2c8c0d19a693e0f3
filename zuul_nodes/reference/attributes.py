"""The attributes of a driver, read from its schemas."""

import dataclasses
import inspect

import voluptuous as vs
from zuul import configloader
from zuul.lib import voluputil
from zuul.provider import BaseProviderSchema

from zuul_nodes.configloader.flattening.vocabulary import (
    LABEL_ALONE,
    PROVIDER_ALONE,
    getAlternatives,
    getName,
    selectType,
)
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER
from zuul_nodes.reference.connections import getOptions

# Type in a schema -> its name in the reference.
TYPES = {bool: 'true or false', int: 'number', float: 'number',
         str: 'text', dict: 'mapping', list: 'list', object: 'anything'}
# Attributes of providers that contain objects with their own reference.
OBJECTS = ('flavors', 'flavor-defaults', 'images', 'image-defaults',
           'labels', 'label-defaults')
CONNECTION = 'connection (in zuul.conf)'
PROVIDER = 'provider and section'
IMAGE = 'image'
IMAGE_TYPES = ('cloud', 'zuul')
# Kind of object in git -> the method that returns its schema.
SCHEMAS = {PROVIDER: 'getProviderSchema', 'label': 'getLabelSchema',
           IMAGE: 'getImageSchema', 'flavor': 'getFlavorSchema'}
# Attributes of stanzas with any driver that no driver's schema has: those of
# Zuul's parsers, and those of zuul-nodes.
STANZAS = {
    PROVIDER: (
        [configloader.SectionParser, configloader.ProviderParser],
        PROVIDER_ALONE),
    'label': ([configloader.LabelParser], LABEL_ALONE | LABEL_OF_ANY_DRIVER),
    IMAGE: ([configloader.ImageParser], {}),
    'flavor': ([configloader.FlavorParser], {}),
}
# Descriptions of attributes whose schemas have none.
DOCS = {
    (PROVIDER, 'description'): 'A description for people.',
    (PROVIDER, 'priority'): """The order in which providers are tried: the
        provider with the lowest number is first.  0 or more; the default is
        ``100``.""",
    ('label', 'dynamic-tags'): """Tags of nodes, key -> text.  The launcher
        fills in names in braces, such as ``{project_name}``.""",
    ('label', 'max-nodes'): """The maximum number of nodes with this label in
        the tenant.""",
    ('label', 'min-ready'): """The number of nodes with this label to keep
        ready, without a request for them.""",
    ('label', 'min-ready-times'): """Times with another ``min-ready``, a list.
        Each has the number ``min-ready``, the times ``from`` and ``to`` in
        quotes, and may have ``days`` (a list of ``mon``, ``tue``, ``wed``,
        ``thu``, ``fri``, ``sat``, ``sun``; all by default) and ``time-zone``
        (such as ``Europe/Berlin``; ``UTC`` by default).  Of several times that
        apply, the highest number counts.""",
    ('label', 'node-attributes'): """Properties of nodes for jobs, name ->
        text: ``nodepool.node_properties`` of a host.""",
    ('label', 'request-timeout'): """Seconds after which a request fails that
        still waits for a node with this label; ``0`` for no limit.  It
        overrides ``request_timeout`` of the launcher.  If providers have
        different values, or a request has several labels, the shortest time
        counts.""",
}
# Types of attributes that functions check.
VALUES = {
    (PROVIDER, 'priority'): 'number',
    ('label', 'dynamic-tags'): 'mapping of text to text',
    ('label', 'min-ready-times'): 'list of mapping',
    ('label', 'node-attributes'): 'mapping of text to text',
    ('label', 'request-timeout'): 'number',
}


@dataclasses.dataclass
class Attribute:
    """The description of an attribute.

    :ivar str name: as written in the configuration.
    :ivar str values: the possible values, in words.
    :ivar bool is_required:
    :ivar default: or None.
    :ivar str doc: its purpose.
    :ivar list choices: (value, doc) for each choice that is documented.
    :ivar list parts: the attributes of its value.
    :ivar bool is_zuuls: whether Zuul itself has the attribute.
    :ivar str image_type: the only type of images that have the attribute, or
        empty.
    """
    name: str
    values: str
    is_required: bool
    default: object
    doc: str
    choices: list
    parts: list
    is_zuuls: bool = False
    image_type: str = ''

    def add(self, other):
        """Merge another description of the same attribute into this one."""
        words = [word for word in (self.values, other.values) if word]
        self.values = ' or '.join(dict.fromkeys(words))
        self.doc = self.doc or other.doc
        self.choices += [each for each in other.choices
                         if each not in self.choices]
        self.parts = _unite(self.parts + other.parts)


def getZuuls(driver_class):
    """:return: the driver class of Zuul's that a class is or extends, or
        None."""
    return next((each for each in driver_class.__mro__
                 if each.__module__.startswith('zuul.driver.')), None)


def describe(schema, zuuls=None, without=()):
    """
    :param schema: a schema of voluptuous, with attributes.
    :param zuuls: Zuul's own schema for the same object, if it has one.
    :param without: names of attributes to leave out.
    :return: a list of :class:`Attribute`, by name.
    """
    found = [each for each in _describe(schema) if each.name not in without]
    if zuuls is not None:
        _mark(found, _describe(zuuls))
    _setImageTypes(found, schema)
    return found


def _setImageTypes(attributes, schema):
    names = {image_type: {each.name for each in _describe(
        selectType(schema, image_type))} for image_type in IMAGE_TYPES}
    for each in attributes:
        only = [image_type for image_type in IMAGE_TYPES
                if each.name in names[image_type]]
        each.image_type = only[0] if len(only) == 1 else ''


def getSections(driver_class=None):
    """
    :param driver_class: None for the attributes that all drivers have.
    :return: yields the name of each kind of object, and a list of those of
        its attributes that not all drivers have.
    """
    if driver_class is None:
        yield from _getCommonSections()
        return
    zuuls = getZuuls(driver_class)
    yield CONNECTION, describeOptions(driver_class, zuuls)
    common = BaseProviderSchema()
    schema, zuuls_schema = (
        each and each().getProviderSchemaClass()()
        for each in (driver_class, zuuls))
    for kind, get in SCHEMAS.items():
        yield kind, describe(
            getattr(schema, get)(), zuuls and getattr(zuuls_schema, get)(),
            {each.name for each in describe(getattr(common, get)())})


def describeOptions(driver_class, zuuls=None):
    """Describe the options of a driver's connections.

    :return: a list of :class:`Attribute`.  Without a schema, it contains the
        options that the connection reads.
    """
    theirs = getOptions(zuuls) if zuuls else ()
    schema = getattr(driver_class, 'connection_schema', None)
    if schema is None:
        found = [_makeAttribute(name, '')
                 for name in sorted(getOptions(driver_class))]
    else:
        found = describe(schema)
    for each in found:
        each.is_zuuls = each.name in theirs
    return found


def _getCommonSections():
    schema = BaseProviderSchema()
    for kind, get in SCHEMAS.items():
        parsers, ours = STANZAS[kind]
        # A schema describes an attribute better than a parser does.
        zuuls = {}
        for parser in parsers:
            zuuls |= _describeStanza(parser.schema.schema)
        zuuls |= {each.name: each for each in describe(
            getattr(schema, get)())}
        found = sorted((_describeStanza(ours) | zuuls).values(),
                       key=lambda each: each.name)
        for each in found:
            each.doc = each.doc or DOCS.get((kind, each.name), '')
            each.values = each.values or VALUES.get((kind, each.name), '')
        _mark(found, list(zuuls.values()))
        yield kind, found


def _describeStanza(keys):
    return {str(key): _makeAttribute(str(key), _describeValue(value)[0])
            for key, value in keys.items() if not str(key).startswith('_')}


def _makeAttribute(name, values):
    return Attribute(name, values, False, None, '', [], [])


def _mark(attributes, zuuls):
    theirs = {each.name: each for each in zuuls}
    for each in attributes:
        each.is_zuuls = each.name in theirs
        _mark(each.parts,
              theirs[each.name].parts if each.is_zuuls else ())


def _describe(schema):
    return _unite(
        _describeKey(key, value) for part in getAlternatives(schema)
        for key, value in part.items()
        if isinstance(key, vs.Marker) and isinstance(getName(key), str)
        and not str(key).startswith('_'))


def _unite(attributes):
    found = {}
    for each in attributes:
        if each.name in found:
            found[each.name].add(each)
        else:
            found[each.name] = each
    return sorted(found.values(), key=lambda each: each.name)


def _describeKey(key, value):
    default = getattr(key, 'default', vs.UNDEFINED)
    default = default() if callable(default) else None
    if default in (voluputil.UNDEFINED, vs.UNDEFINED, {}, [], ''):
        default = None
    values, choices, parts = _describeValue(value)
    return Attribute(
        str(key), values, isinstance(key, vs.Required), default,
        getattr(key, 'doc', None) or getattr(value, 'doc', None) or '',
        choices, [] if str(key) in OBJECTS else parts)


def _describeValue(value):
    """:return: the possible values in words, the choices, and the attributes
        of the value."""
    if isinstance(value, voluputil.Nullable):
        return _describeValue(value.schema)
    if isinstance(value, voluputil.AsList):
        words, choices, parts = _describeValue(value.schema.validators[-1])
        return f'{words}, or a list', choices, parts
    if isinstance(value, voluputil.Constant):
        return '', [(value.schema.schema, value.schema.doc)], []
    if isinstance(value, vs.Schema):
        return _describeValue(value.schema)
    if isinstance(value, dict):
        return _describeMapping(value)
    if isinstance(value, list | tuple):
        words, choices, parts = _describeAll(value)
        return f'list of {words}' if words else 'list', choices, parts
    if isinstance(value, vs.Coerce):
        return _describeValue(value.type)
    if hasattr(value, 'validators'):
        return _describeAll(value.validators)
    if isinstance(value, type):
        return TYPES.get(value, ''), [], []
    if inspect.isfunction(value) and hasattr(value, 'schema'):
        # A function with a schema that describes its value.
        return _describeValue(value.schema)
    if getattr(value, '__name__', '') == vs.Boolean.__name__:
        return TYPES[bool], [], []
    if value is None or callable(value):
        return '', [], []
    return f'``{value}``', [], []


def _describeMapping(value):
    parts = _describe(value)
    if parts or not value:
        return 'mapping', [], parts
    (key, inner), *_ = value.items()
    words = [_describeValue(each)[0] for each in (key, inner)]
    return (f'mapping of {" to ".join(words)}' if all(words) else 'mapping',
            [], [])


def _describeAll(values):
    words, choices, parts = [], [], []
    for value in values:
        word, more_choices, more_parts = _describeValue(value)
        if word and word not in words:
            words.append(word)
        choices += more_choices
        parts += more_parts
    return ' or '.join(words), choices, parts
