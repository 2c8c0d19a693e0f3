"""Find the lines of example files that set an attribute."""

import dataclasses
import re
import textwrap

import yaml

from zuul_nodes.reference.attributes import CONNECTION, OBJECTS, PROVIDER

KINDS = {'section': PROVIDER, 'provider': PROVIDER, 'label': 'label',
         'image': 'image', 'flavor': 'flavor'}
OPTION = re.compile(r'^(\w+) *[=:]')


@dataclasses.dataclass
class Example:
    """The lines that set an attribute.

    :ivar str language: the language of the lines.
    :ivar str text: the first lines that set the attribute.
    :ivar dict parts: name -> the :class:`Example` of an attribute within the
        value.
    """
    language: str
    text: str
    parts: dict = dataclasses.field(default_factory=dict)


def readOptions(text):
    """
    :param str text: the content of a zuul.conf.
    :return: option -> :class:`Example`, for the options of all sections.
    """
    found = {}
    for line in text.splitlines():
        if option := OPTION.match(line):
            found.setdefault(option[1], Example('ini', line))
    return found


def readStanzas(text):
    """
    :param str text: the YAML that tenants write.
    :return: kind of object -> attribute -> :class:`Example`.
    """
    found = {kind: {} for kind in KINDS.values()}
    for stanza in yaml.compose(text, yaml.SafeLoader).value:
        for kind, node in stanza.value:
            if kind.value in KINDS:
                _read(text, node, KINDS[kind.value], found)
    return found


def _read(text, node, kind, found):
    _addParts(text, node, found[kind])
    if kind != PROVIDER:
        return
    for key, value in node.value:
        if key.value in OBJECTS:
            part = key.value.removesuffix('-defaults').removesuffix('s')
            for entry in _getMappings(value):
                _read(text, entry, part, found)


def _addParts(text, node, found):
    for mapping in _getMappings(node):
        for key, value in mapping.value:
            example = found.setdefault(key.value, Example(
                'yaml', _cut(text, key, value)))
            _addParts(text, value, example.parts)


def _getMappings(node):
    """:return: a list of mappings: the node, or those in a sequence."""
    return [each for each in (
        node.value if isinstance(node, yaml.SequenceNode) else [node])
        if isinstance(each, yaml.MappingNode)]


def _cut(text, key, value):
    indent = ' ' * key.start_mark.column
    return textwrap.dedent(
        indent + text[key.start_mark.index:_getEnd(value)].rstrip())


def _getEnd(node):
    """:return: the end of a node, without what precedes the next one."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _getEnd(last[1] if isinstance(last, tuple) else last)
    return node.end_mark.index


def read(path):
    """
    :param Path path: of two files, without the suffixes ``.conf`` and
        ``.yaml``; either may be missing.
    :return: kind of object -> attribute -> :class:`Example`.
    """
    conf, stanzas = (path.with_name(f'{path.name}{end}')
                     for end in ('.conf', '.yaml'))
    found = readStanzas(stanzas.read_text()) if stanzas.exists() else {}
    if conf.exists():
        found[CONNECTION] = readOptions(conf.read_text())
    return found
