"""The reference of a driver, made of its schemas.

This is an extension of Sphinx.  With ``zuul_nodes.reference`` among the
extensions in ``conf.py``, this shows all that a driver of a package has for
attributes beside those of any driver, whoever has written it; without a
class, it shows these:

.. code-block:: rst

   .. driver:: zuul_nodes.drivers.fake:FakeDriver
"""

import dataclasses
import importlib
import inspect
import re
import textwrap

import voluptuous as vs
from zuul.lib import voluputil
from zuul.provider import BaseProviderSchema

# What voluptuous checks -> what people call it.
TYPES = {bool: 'true or false', int: 'number', float: 'number',
         str: 'text', dict: 'mapping', list: 'list', object: 'anything'}
# Attributes of providers that are objects with a reference of their own.
OBJECTS = ('flavors', 'flavor-defaults', 'images', 'image-defaults',
           'labels', 'label-defaults')
# Zuul refers to places in its own documentation.
ROLE = re.compile(r':\w+:`([^`<]+?)(?: <[^`]*>)?`')


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
    """
    name: str
    values: str
    is_required: bool
    default: object
    doc: str
    choices: list
    parts: list


def describe(schema, without=()):
    """
    :param schema: of voluptuous, with attributes.
    :param without: names of attributes that are left out.
    :return: a list of :class:`Attribute`, by name.
    """
    found = {}
    for part in _getAlternatives(schema):
        for key, value in part.items():
            name = str(key)
            if isinstance(key, vs.Marker) and name not in (
                    *without, *found) and not name.startswith('_'):
                found[name] = _describeKey(key, value)
    return sorted(found.values(), key=lambda each: each.name)


def getSections(driver_class=None):
    """
    :param driver_class: or None for what any driver has.
    :return: yields what people configure, in words, and a list of those of
        its attributes that not any driver has.
    """
    if options := getattr(driver_class, 'connection_schema', None):
        yield 'connection (in zuul.conf)', describe(options)
    common = BaseProviderSchema()
    schema = driver_class and driver_class().getProviderSchemaClass()()
    for name, get in (('provider and section', 'getProviderSchema'),
                      ('label', 'getLabelSchema'),
                      ('image', 'getImageSchema'),
                      ('flavor', 'getFlavorSchema')):
        attributes = describe(getattr(common, get)())
        if schema:
            attributes = describe(getattr(schema, get)(), {
                each.name for each in attributes})
        yield name, attributes


def format(attributes, indent=''):
    """:return: yields lines of reStructuredText."""
    for each in attributes:
        facts = [each.values]
        if each.is_required:
            facts.append('required')
        elif each.default is not None:
            facts.append(f'default ``{_write(each.default)}``')
        text = ', '.join(filter(None, facts))
        yield f'{indent}``{each.name}``' + (f' ({text})' if text else '')
        yield from _formatDoc(each.doc, indent)
        for value, doc in each.choices:
            yield f'{indent}   ``{value}``'
            yield from _formatDoc(doc, f'{indent}   ')
        yield from format(each.parts, f'{indent}   ')


def _formatDoc(doc, indent):
    yield from textwrap.indent(
        ROLE.sub(r'``\1``', inspect.cleandoc(doc or '')),
        f'{indent}   ').splitlines()
    yield ''


def _write(value):
    return {True: 'true', False: 'false'}.get(value, value) if isinstance(
        value, bool) else value


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
        return '', [(_write(value.schema.schema), value.schema.doc)], []
    if isinstance(value, vs.Schema):
        return _describeValue(value.schema)
    if isinstance(value, dict):
        parts = describe(vs.Schema(value))
        if parts or not value:
            return 'mapping', [], parts
        (key, inner), *_ = value.items()
        return (f'mapping of {_describeValue(key)[0]} to '
                f'{_describeValue(inner)[0]}', [], [])
    if isinstance(value, list | tuple):
        words, choices, parts = _describeAll(value)
        return f'list of {words}' if words else 'list', choices, parts
    if isinstance(value, vs.Coerce):
        return _describeValue(value.type)
    if hasattr(value, 'validators'):
        return _describeAll(value.validators)
    if isinstance(value, type):
        return TYPES.get(value, ''), [], []
    if value is None or callable(value):
        return '', [], []
    return f'``{value}``', [], []


def _describeAll(values):
    words, choices, parts = [], [], []
    for value in values:
        word, more_choices, more_parts = _describeValue(value)
        if word and word not in words:
            words.append(word)
        choices += more_choices
        parts += more_parts
    return ' or '.join(words), choices, parts


def _getAlternatives(schema):
    """:return: yields the dictionaries that a schema consists of."""
    if isinstance(schema, dict):
        yield schema
    elif hasattr(schema, 'validators'):
        for each in schema.validators:
            yield from _getAlternatives(each)
    elif hasattr(schema, 'schema'):
        yield from _getAlternatives(schema.schema)


def setup(app):
    """Called by Sphinx."""
    # It is there while Sphinx runs; not everybody who reads a schema has it.
    from sphinx.util.docutils import SphinxDirective

    class DriverDirective(SphinxDirective):
        optional_arguments = 1

        def run(self):
            driver_class = None
            if self.arguments:
                module, _, name = self.arguments[0].partition(':')
                driver_class = getattr(importlib.import_module(module), name)
            lines = []
            for title, attributes in getSections(driver_class):
                if attributes:
                    lines += [f'.. rubric:: Attributes of {title}', '',
                              *format(attributes), '']
            return self.parse_text_to_nodes('\n'.join(lines))

    app.add_directive('driver', DriverDirective)
    return {'parallel_read_safe': True}
