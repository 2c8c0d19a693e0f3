"""Format attributes and abilities as reStructuredText."""

import inspect
import re
import textwrap

# A role in Zuul's documentation, whose target does not exist in ours.
ROLE = re.compile(r':\w+:`([^`<]+?)(?: <[^`]*>)?`')


def format(attributes, examples=None, indent='', shown=''):
    """
    :param list attributes: of :class:`Attribute`.
    :param examples: name -> :class:`Example`, or None.
    :param str shown: the text of the example that contains these attributes.
    :return: yields lines of reStructuredText.
    """
    for each in attributes:
        facts = [each.values]
        if each.is_required:
            facts.append('required')
        elif each.default is not None:
            facts.append(f'default ``{_write(each.default)}``')
        facts.append("Zuul's" if each.is_zuuls else '*ours*')
        yield f'{indent}``{each.name}`` ({", ".join(filter(None, facts))})'
        example = examples.get(each.name) if examples else None
        yield from _formatDoc(
            each.doc or (example.comment if example else ''), indent)
        for value, doc in each.choices:
            yield f'{indent}   ``{_write(value)}``'
            yield from _formatDoc(doc, f'{indent}   ')
        lines = example.text if example else ''
        if lines and lines not in shown:
            yield from _formatExample(example, indent)
        yield from format(each.parts, example and example.parts,
                          f'{indent}   ', shown or lines)


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


def _formatExample(example, indent):
    yield f'{indent}   .. code-block:: {example.language}'
    yield ''
    yield from textwrap.indent(
        example.text, f'{indent}      ').splitlines()
    yield ''


def _formatDoc(doc, indent):
    text = ROLE.sub(r'``\1``', inspect.cleandoc(doc or '')).rstrip()
    yield from textwrap.indent(text, f'{indent}   ').splitlines()
    yield ''


def _write(value):
    return str(value).lower() if isinstance(value, bool) else value
