"""Find the comments of a YAML text, and the values that they belong to."""

import re

import yaml

from zuul_nodes.cmd.migrate.tree import Comment

# What may stand between a key and a comment, if the value is below it.
OPENING = re.compile(r'\s*:?\s*(?:[&*][^\s]+)?\s*(#.*)?$')


class Comments:
    """The comments of one text.

    :param str text:
    :param str file: its name.
    :param root: the node of PyYAML for the text.
    :param clean: function that removes secrets from a comment.
    :ivar lines: number of a line, from 0 -> the :class:`Comment` in a line
        that has nothing else.
    """

    def __init__(self, text, file, root, clean):
        self._text = text.splitlines()
        self._file = file
        self._clean = clean
        inside = set()
        for scalar in _getScalars(root):
            inside.update(range(scalar.start_mark.line + 1,
                                _getEnd(scalar) + 1))
        self.inside = inside
        self.lines = {
            number: self._make(line.strip(), number)
            for number, line in enumerate(self._text)
            if line.lstrip().startswith('#') and number not in inside}

    def _make(self, text, number):
        return Comment(self._clean(text), self._file, number + 1)

    def getAbove(self, line):
        """:return: a tuple of the comments directly above a line."""
        found = []
        while (line := line - 1) in self.lines:
            found.insert(0, self.lines[line])
        return tuple(found)

    def getInline(self, key, value):
        """
        :param key: node of PyYAML, or None for an item of a list.
        :param value: node of PyYAML.
        :return: the :class:`Comment` at the end of the line, or None.
        """
        if isinstance(value, yaml.ScalarNode) and value.style not in (
            '|', '>'):
            mark = value.end_mark
        elif key is not None:
            mark = key.end_mark
        else:
            return None
        if mark.line >= len(self._text):
            return None
        match = OPENING.match(self._text[mark.line][mark.column:])
        return self._make(match[1], mark.line) if match and match[1] else None


def _getScalars(root):
    """:return: yields the scalars that have several lines."""
    nodes, seen = [root] if root else [], set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            nodes += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif node.end_mark.line > node.start_mark.line:
            yield node


def _getEnd(scalar):
    """:return: the number of the last line that has text of a scalar."""
    # The end of a block scalar is where the next token begins.
    return scalar.end_mark.line - (1 if scalar.style in ('|', '>') else 0)
