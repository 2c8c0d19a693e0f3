"""Detect files that a template engine has yet to fill in."""

import re

import yaml

from zuul_nodes.exceptions import UserError

# Syntax -> pattern of its marks.
SYNTAXES = {
    'Jinja2': re.compile(r'\{\{|\{%|\{#.*#\}'),
    'ERB': re.compile(r'<%'),
}
# Programs on nodes have templates of their own.
OF_NODES = ('userdata', 'user-data', 'custom-data', 'env-vars', 'metadata')


def check(text, name, root):
    """
    :param str text: of a file.
    :param str name: of the file.
    :param root: node of PyYAML, or None if the text is not YAML.
    :raises UserError: the text is a template.
    """
    free = _getFreeLines(root) if root else set()
    for number, line in enumerate(text.splitlines()):
        if number in free or line.lstrip().startswith('#'):
            continue
        for syntax, pattern in SYNTAXES.items():
            match = pattern.search(line)
            if match:
                raise UserError(
                    f'{name}:{number + 1} is a template of {syntax} '
                    f'("{match[0]}"); render it first, and convert the '
                    f'result')


def _getFreeLines(root):
    """:return: the numbers of the lines in which such marks are data."""
    free, nodes, seen = set(), [root], set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value in OF_NODES and not isinstance(key.value, list):
                    free.update(range(key.start_mark.line,
                                      value.end_mark.line + 1))
                nodes.append(value)
    return free
