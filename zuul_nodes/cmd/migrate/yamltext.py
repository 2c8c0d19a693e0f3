"""Write YAML as people do, with comments."""

import functools
import re

import yaml

from zuul_nodes.cmd.migrate.tree import Origin, getOrigin

# Text that a literal block shows as it is.
BLOCK = re.compile(r'[^\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\t]*')


def write(content):
    """
    :param content: a list of stanzas.
    :return: (the text, the set of the comments in it).
    """
    writer = _Writer()
    for number, item in enumerate(content):
        if number:
            writer.lines.append('')
        writer.writeItem(item, getOrigin(content, number), 0)
    return '\n'.join(writer.lines) + '\n', writer.comments


class _Writer:

    def __init__(self):
        self.lines = []
        self.comments = set()

    def _writeComments(self, origin, indent):
        for comment in origin.above:
            if comment not in self.comments:
                self.comments.add(comment)
                self.lines.append(f'{" " * indent}{comment.text}')

    def _append(self, text, origin):
        """Add a line, with a comment at its end."""
        comment = origin.inline
        if comment and comment not in self.comments:
            self.comments.add(comment)
            text += f'  {comment.text}'
        self.lines.append(text)

    def writeItem(self, item, origin, indent):
        """Write an item of a list."""
        self._writeComments(origin, indent)
        start = f'{" " * indent}- '
        if isinstance(item, dict) and item:
            self._writeMapping(item, indent + 2, start)
        elif isinstance(item, list) and item:
            self.lines.append(start.rstrip())
            self._writeSequence(item, indent + 2)
        else:
            self._writeScalar(start, item, origin, indent + 2)

    def _writeMapping(self, mapping, indent, start=None):
        for key, value in mapping.items():
            origin = getOrigin(mapping, key)
            if start is None:
                self._writeComments(origin, indent)
            elif origin.above:
                # Above the item, as there is no place above its first key.
                self._writeComments(origin, indent - 2)
            lead = f'{start or " " * indent}{formatScalar(key)}:'
            start = None
            if isinstance(value, dict) and value:
                self._append(lead, origin)
                self._writeMapping(value, indent + 2)
            elif isinstance(value, list) and value:
                if origin.inline and not getOrigin(value, 0).line and len(
                        value) == 1:
                    # A single value has become a list.
                    self.lines.append(lead)
                    self.writeItem(value[0], Origin(inline=origin.inline),
                                   indent + 2)
                    continue
                self._append(lead, origin)
                self._writeSequence(value, indent + 2)
            else:
                self._writeScalar(f'{lead} ', value, origin, indent + 2)

    def _writeSequence(self, sequence, indent):
        for number, item in enumerate(sequence):
            self.writeItem(item, getOrigin(sequence, number), indent)

    def _writeScalar(self, start, value, origin, indent):
        if isinstance(value, str) and isBlock(value):
            body = value.rstrip('\n')
            chomp = {0: '-', 1: ''}.get(len(value) - len(body), '+')
            self.lines.append(f'{start}|{chomp}')
            lines = value.split('\n')
            # The last line break ends the last line.
            for line in lines[:-1] if value.endswith('\n') else lines:
                self.lines.append(f'{" " * indent}{line}' if line else '')
            return
        if isinstance(value, dict | list):
            text = '{}' if isinstance(value, dict) else '[]'
        else:
            text = formatScalar(value)
        self._append(f'{start}{text}', origin)


def isBlock(text):
    """:return: whether a text is written as a literal block."""
    lines = text.split('\n')
    return (len(lines) > 1 and bool(lines[0]) and not lines[0][0].isspace()
            and all(line == line.rstrip() for line in lines)
            and bool(BLOCK.fullmatch(text)))


def formatScalar(value):
    """:return: a scalar in one line."""
    if isinstance(value, bool) or value is None:
        return {True: 'true', False: 'false', None: 'null'}[value]
    if isinstance(value, int | float):
        return yaml.safe_dump(value).split('\n', 1)[0]
    return _formatText(str(value))


@functools.lru_cache(4096)
def _formatText(text):
    # The style for texts with line breaks does not fit into one line.
    style = '"' if '\n' in text else None
    return yaml.safe_dump(
        text, width=float('inf'), allow_unicode=True, default_style=style,
    ).removesuffix('\n').removesuffix('\n...')
