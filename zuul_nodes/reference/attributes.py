"""What a driver's attributes are, as its schemas say it."""

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
)
from zuul_nodes.drivers import LABEL_OF_ANY_DRIVER

# What voluptuous checks -> what people call it.
TYPES = {bool: 'true or false', int: 'number', float: 'number',
         str: 'text', dict: 'mapping', list: 'list', object: 'anything'}
# Attributes of providers that are objects with a reference of their own.
OBJECTS = ('flavors', 'flavor-defaults', 'images', 'image-defaults',
           'labels', 'label-defaults')
CONNECTION = 'connection (in zuul.conf)'
PROVIDER = 'provider and section'
# What people configure in git -> the method that has its schema.
SCHEMAS = {PROVIDER: 'getProviderSchema', 'label': 'getLabelSchema',
           'image': 'getImageSchema', 'flavor': 'getFlavorSchema'}
# What stanzas have with any driver, though no driver's schema has it: of
# Zuul, and of ours.
STANZAS = {
    PROVIDER: (
        [configloader.SectionParser, configloader.ProviderParser],
        PROVIDER_ALONE),
    'label': ([configloader.LabelParser], LABEL_ALONE | LABEL_OF_ANY_DRIVER),
    'image': ([configloader.ImageParser], {}),
    'flavor': ([configloader.FlavorParser], {}),
}
# Nobody else says what these are.
DOCS = {
    (PROVIDER, 'description'): 'What it is, for people.',
    (PROVIDER, 'priority'): """Which of several providers nodes come from:
        the one with the least number is first.  0 or more, and ``100`` where
        nothing is said.""",
    ('label', 'dynamic-tags'): """Tags of nodes, key -> text, with names in
        braces that the launcher fills in, such as ``{project_name}``.""",
    ('label', 'max-nodes'): """How many nodes with this label there may be in
        the tenant.""",
    ('label', 'min-ready'): """How many nodes with this label are kept ready,
        without a request for them.""",
    ('label', 'node-attributes'): """What jobs are told of nodes, name -> text:
        ``nodepool.node_properties`` of a host.""",
}


@dataclasses.dataclass
class Attribute:
    """
    :ivar str name: as people write it.
    :ivar str values: what it may be, in words.
    :ivar bool is_required:
    :ivar default: or None.
    :ivar str doc: what it is for.
    :ivar list choices: (value, doc) of those that it may be, if they have
        been explained.
    :ivar list parts: attributes of what it is.
    :ivar bool is_zuuls: whether Zuul has it without us.
    """
    name: str
    values: str
    is_required: bool
    default: object
    doc: str
    choices: list
    parts: list
    is_zuuls: bool = False

    def add(self, other):
        """Be what another of the same name is, too."""
        words = [word for word in (self.values, other.values) if word]
        self.values = ' or '.join(dict.fromkeys(words))
        self.doc = self.doc or other.doc
        self.choices += [each for each in other.choices
                         if each not in self.choices]
        self.parts = _unite(self.parts + other.parts)


def getZuuls(driver_class):
    """:return: the driver of Zuul's that a class is or extends, or None."""
    return next((each for each in driver_class.__mro__
                 if each.__module__.startswith('zuul.driver.')), None)


def describe(schema, zuuls=None, without=()):
    """
    :param schema: of voluptuous, with attributes.
    :param zuuls: the schema that Zuul has for the same, if it has one.
    :param without: names of attributes that are left out.
    :return: a list of :class:`Attribute`, by name.
    """
    found = [each for each in _describe(schema) if each.name not in without]
    if zuuls is not None:
        _mark(found, _describe(zuuls))
    return found


def getSections(driver_class=None):
    """
    :param driver_class: or None for what any driver has.
    :return: yields what people configure, in words, and a list of those of
        its attributes that not any driver has.
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
    """
    :return: a list of :class:`Attribute`: the options of a connection.  If
        there is no schema of them, it has what the connection asks for.
    """
    theirs = _getOptions(zuuls) if zuuls else ()
    schema = getattr(driver_class, 'connection_schema', None)
    if schema is None:
        found = [_makeAttribute(name, '')
                 for name in sorted(_getOptions(driver_class))]
    else:
        found = describe(schema)
    for each in found:
        each.is_zuuls = each.name in theirs
    return found


class _Options(dict):
    """A section of zuul.conf that remembers what it is asked for."""

    def __init__(self):
        self.names = set()

    def __contains__(self, name):
        self.names.add(name)
        return True

    def get(self, name, default=None):
        self.names.add(name)
        return default


def _getOptions(driver_class):
    options = _Options()
    driver_class().getConnection('example', options)
    return options.names


def _getCommonSections():
    schema = BaseProviderSchema()
    for kind, get in SCHEMAS.items():
        parsers, ours = STANZAS[kind]
        # A schema says more of an attribute than a parser does.
        zuuls = {}
        for parser in parsers:
            zuuls |= _describeStanza(parser.schema.schema)
        zuuls |= {each.name: each for each in describe(
            getattr(schema, get)())}
        found = sorted((_describeStanza(ours) | zuuls).values(),
                       key=lambda each: each.name)
        for each in found:
            each.doc = each.doc or DOCS.get((kind, each.name), '')
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
    """:return: what it may be in words, the choices there are, and the
        attributes it has."""
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
        # One that says what it looks for.
        return _describeValue(value.schema)
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
