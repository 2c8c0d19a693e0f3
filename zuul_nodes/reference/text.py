"""Format attributes and abilities as reStructuredText.

Attributes are objects of zuul-sphinx, named as in Zuul's documentation:
``<aws connection>.rate``, ``provider[aws].labels.az``,
``provider[aws].images[zuul].import-method``; those of any driver are
``label.min-ready``, ``provider.priority`` and so on.
"""

import inspect
import re
import textwrap

from zuul_nodes.reference.attributes import (
    CONNECTION,
    IMAGE,
    IMAGE_TYPES,
    PROVIDER,
    getSections,
    getZuuls,
)

# A role in Zuul's documentation: its name and its target.
ROLE = re.compile(r':(\w+):`([^`<]+?)(?: <([^`>]*)>)?`')
# An attribute of a driver: the kind of object in a provider, and the rest.
OF_DRIVER = re.compile(r'provider\[[^]]*\](?:\.(label|image|flavor)s)?(.*)')
# Kind of object -> the title of its attributes, and what they are set on.
TITLES = {
    CONNECTION: ('Options of connections', 'In ``[connection …]`` of '
                 '``zuul.conf``.'),
    PROVIDER: ('Attributes of providers and sections',
               'In stanzas of providers and sections.'),
    'label': ('Attributes of labels', 'In stanzas of labels, and in '
              '``labels`` and ``label-defaults`` of sections and providers.'),
    IMAGE: ('Attributes of images', 'In stanzas of images, and in ``images`` '
            'and ``image-defaults`` of sections and providers.'),
    'flavor': ('Attributes of flavors', 'In stanzas of flavors, and in '
               '``flavors`` and ``flavor-defaults`` of sections and '
               'providers.'),
}


def formatSections(driver_class=None, examples=None):
    """
    :param driver_class: None for the attributes that all drivers have.
    :param examples: kind of object -> attribute -> :class:`Example`.
    :return: yields lines of reStructuredText.
    """
    groups = [(kind, *each) for kind, attributes in getSections(driver_class)
              for each in _group(kind, attributes)]
    names = {
        name for kind, image_type, attributes in groups
        for name in _yieldNames(
            attributes, getPath(kind, driver_class, image_type))}
    shows_origin = driver_class is None or getZuuls(driver_class) is not None
    for kind, image_type, attributes in groups:
        title, place = TITLES[kind]
        if image_type:
            title += f' of the type {image_type}'
        yield from (f'.. rubric:: {title}', '')
        path = getPath(kind, driver_class, image_type)
        # Zuul's descriptions of attributes refer to both; the last of several
        # names counts for what is inside.
        yield '.. zuul:attr:: ' + (
            'section\n               provider' if path == 'provider' else path)
        yield from ('', f'   {place}', '')
        yield from format(
            attributes, (examples or {}).get(kind), '   ',
            names=names, shows_origin=shows_origin)


def _group(kind, attributes):
    """:return: yields a type of images, or "", and the attributes that belong
        to it alone."""
    for image_type in ('', *IMAGE_TYPES):
        found = [each for each in attributes
                 if (each.image_type if kind == IMAGE else '') == image_type]
        if found:
            yield image_type, found


def getPath(kind, driver_class=None, image_type=''):
    """
    :param str kind: of object, as in :func:`getSections`.
    :param str image_type: "cloud", "zuul", or "" for both.
    :return: the name of the object that contains the attributes.
    """
    if kind == CONNECTION:
        return f'<{driver_class.name} connection>'
    if driver_class is None:
        path = 'provider' if kind == PROVIDER else kind
    else:
        path = f'provider[{driver_class.name}]'
        if kind != PROVIDER:
            path += f'.{kind}s'
    return f'{path}[{image_type}]' if image_type else path


def _yieldNames(attributes, path):
    for each in attributes:
        name = f'{path}.{each.name}'
        yield name
        yield from (f'{name}.{_write(value)}' for value, _ in each.choices)
        yield from _yieldNames(each.parts, name)


def format(attributes, examples=None, indent='', shown='', names=(),
           shows_origin=True):
    """
    :param list attributes: of :class:`Attribute`.
    :param examples: name -> :class:`Example`, or None.
    :param str shown: the text of the example that contains these attributes.
    :param names: the names of all objects of the same driver.
    :param bool shows_origin: whether to tell what Zuul lacks.
    :return: yields lines of reStructuredText.
    """
    inner = f'{indent}   '
    for each in attributes:
        example = examples.get(each.name) if examples else None
        yield f'{indent}.. zuul:attr:: {each.name}'
        yield from _formatOptions(each, inner)
        if shows_origin and not each.is_zuuls:
            yield from (f'{inner}*Added by zuul-nodes.*', '')
        yield from _formatDoc(each.doc, inner, names)
        for value, doc in each.choices:
            yield from (f'{inner}.. zuul:value:: {_write(value)}', '')
            yield from _formatDoc(doc, f'{inner}   ', names)
        lines = example.text if example else ''
        if lines and lines not in shown:
            yield from _formatExample(example, inner)
        yield from format(each.parts, example and example.parts, inner,
                          shown or lines, names, shows_origin)


def formatTable(titles, rows):
    """
    :param list titles: the titles of the columns.
    :param rows: an iterable of lists of cells.
    :return: yields lines of reStructuredText.
    """
    yield from ('.. list-table::', '   :header-rows: 1',
                '   :stub-columns: 1', '')
    for row in (titles, *rows):
        for number, cell in enumerate(row):
            yield f'   {" " if number else "*"} - {cell}'
    yield ''


def _formatOptions(attribute, indent):
    if attribute.is_required:
        yield f'{indent}:required:'
    elif attribute.default is not None:
        yield f'{indent}:default: {_write(attribute.default)}'
    if attribute.values:
        yield f'{indent}:type: {attribute.values.replace("``", "")}'
    yield ''


def _formatExample(example, indent):
    yield f'{indent}.. code-block:: {example.language}'
    yield ''
    yield from textwrap.indent(
        example.text, f'{indent}   ').splitlines()
    yield ''


def _formatDoc(doc, indent, names):
    text = ROLE.sub(lambda role: _refer(role, names),
                    inspect.cleandoc(doc or '')).rstrip()
    yield from textwrap.indent(text, indent).splitlines()
    yield ''


def _refer(role, names):
    """:return: a role of Zuul's documentation as one of ours."""
    kind, title, target = role.groups()
    if kind not in ('attr', 'value'):
        return f'``{title}``'
    name = target or title
    if name not in names and (found := OF_DRIVER.fullmatch(name)):
        # All drivers have it.
        name = f'{found[1] or "provider"}{found[2]}'
    return (f':zuul:{kind}:`{title} <{name}>`' if target
            else f':zuul:{kind}:`{name}`')


def _write(value):
    if value is None:
        return 'null'
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ', '.join(map(_write, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
