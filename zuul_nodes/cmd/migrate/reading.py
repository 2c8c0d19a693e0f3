"""Read a file of Nodepool: variables, YAML, anchors, comments."""

import re

import yaml

from zuul_nodes.cmd.migrate import templates
from zuul_nodes.cmd.migrate.comments import Comments
from zuul_nodes.cmd.migrate.tree import Mapping, Origin, Sequence
from zuul_nodes.exceptions import UserError

VARIABLE = re.compile(r'%\((NODEPOOL_\w*)\)')
MERGE = 'tag:yaml.org,2002:merge'
# Far more than any site has, and far less than nested aliases can make.
MOST = 200_000


class Loader(yaml.SafeLoader):
    """Leaves dates as they are written."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers
            if tag != 'tag:yaml.org,2002:timestamp']
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


class Source:
    """A file as it was read.

    :ivar str name: of the file.
    :ivar Mapping root: its content.
    :ivar comments: all its :class:`Comment` lines.
    :ivar warnings: list of (text, Origin).
    """

    def __init__(self, name, root, comments, warnings):
        self.name = name
        self.root = root
        self.comments = comments
        self.warnings = warnings


def read(path, environment, secrets, name=None):
    """
    :param Path path:
    :param str name: what the file is called in messages.
    :param dict environment: variable -> value.
    :param Secrets secrets: receives the secrets of the file.
    :return: a :class:`Source`.
    :raises UserError: the file cannot be read; the message is one line.
    """
    name = name or str(path)
    try:
        text = path.read_text(encoding='utf-8')
    except UnicodeDecodeError:
        raise UserError(f'{name} is not a text in UTF-8') from None
    except OSError as error:
        raise UserError(f'cannot read {name}: {error.strerror}') from error
    text = substitute(text, name, environment)
    loader = None
    try:
        loader = Loader(text)
        root = loader.get_single_node()
        templates.check(text, name, root)
        comments = Comments(text, name, root, secrets.clean)
        builder = _Builder(name, loader, comments, secrets)
        value = builder.build(root) if root else None
    except yaml.YAMLError as error:
        templates.check(text, name, None)
        raise UserError(secrets.clean(_explain(name, error))) from None
    except RecursionError:
        raise UserError(f'{name} is nested too deeply') from None
    except ValueError as error:
        # Such as the tag of a number on a text, in which case the text would
        # be in the message.
        raise UserError(f'{name} has an invalid value: '
                        f'{type(error).__name__}') from None
    finally:
        if loader:
            loader.dispose()
    if value is not None and not isinstance(value, Mapping):
        raise UserError(
            f'{name} contains {_describe(value)} where the attributes of '
            f'nodepool.yaml ("providers", "labels", ...) are expected')
    return Source(name, value if value is not None else Mapping(),
                  tuple(comments.lines.values()), builder.warnings
                  if root else [])


def substitute(text, name, environment):
    """Fill in variables as Nodepool does.

    :raises UserError: a variable is not set, or has several lines.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith('#'):
            continue
        for match in VARIABLE.finditer(line):
            variable = match[1]
            if variable not in environment:
                raise UserError(
                    f'{name}:{number} uses %({variable}), which is not in '
                    f'the environment; set it with --env {variable}=VALUE')
            if len(environment[variable].splitlines()) > 1:
                raise UserError(
                    f'{name}:{number}: the value of {variable} has several '
                    f'lines; write it into the file')
    return VARIABLE.sub(
        lambda match: environment.get(match[1], match[0]), text)


class _Builder:
    """Makes mappings and lists of the nodes of PyYAML."""

    def __init__(self, name, loader, comments, secrets):
        self._name = name
        self._loader = loader
        self._comments = comments
        self._secrets = secrets
        self._open = set()
        self._count = 0
        self.warnings = []

    def build(self, node, key=None):
        """
        :param key: the key of the mapping that the node is a value of.
        """
        self._count += 1
        if self._count > MOST or id(node) in self._open:
            raise UserError(
                f'{self._name}:{node.start_mark.line + 1}: the aliases here '
                f'expand to too many values')
        if isinstance(node, yaml.ScalarNode):
            # A plain "=" has a tag of its own, which nothing constructs.
            value = self._loader.construct_object(node)
            return self._secrets.replace(key, value, self._find(node))
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._buildMapping(node)
            return self._buildSequence(node, key)
        finally:
            self._open.discard(id(node))

    def _find(self, node, key=None, above=True):
        first = key or node
        line = first.start_mark.line
        return Origin(
            self._name, line + 1,
            self._comments.getAbove(line) if above else (),
            self._comments.getInline(key, node))

    def _buildMapping(self, node):
        mapping = Mapping(origin=self._find(node))
        for key, value in node.value:
            if key.tag != MERGE:
                continue
            each = (value.value if isinstance(value, yaml.SequenceNode)
                    else [value])
            for merged in reversed(each):
                if not isinstance(merged, yaml.MappingNode):
                    raise UserError(
                        f'{self._name}:{merged.start_mark.line + 1}: only '
                        f'mappings can be merged with "<<"')
                mapping.take(self.build(merged))
        own = set()
        first_line = node.start_mark.line
        for key, value in node.value:
            if key.tag == MERGE:
                continue
            name = self._buildKey(key)
            if name in own:
                self.warnings.append((
                    f'"{name}" is written twice; the last one counts',
                    self._find(value, key)))
            own.add(name)
            # The comments above a mapping belong to the mapping.
            mapping.put(name, self.build(value, name), self._find(
                value, key, above=key.start_mark.line != first_line))
        if isSecretPair(mapping):
            mapping['value'] = self._secrets.replace(
                mapping['name'], mapping['value'], mapping.origins['value'])
        return mapping

    def _buildKey(self, node):
        if not isinstance(node, yaml.ScalarNode):
            raise UserError(f'{self._name}:{node.start_mark.line + 1}: '
                            f'a key must be a text')
        return str(self._loader.construct_object(node))

    def _buildSequence(self, node, key):
        sequence = Sequence(origin=self._find(node))
        for each in node.value:
            sequence.add(self.build(each, key), self._find(each))
        return sequence


def isSecretPair(mapping):
    """:return: whether a mapping is a variable, as in ``env``."""
    return (isinstance(mapping.get('name'), str)
            and isinstance(mapping.get('value'), str | int | float))


def _explain(name, error):
    mark = getattr(error, 'problem_mark', None)
    line = f':{mark.line + 1}' if mark else ''
    problem = getattr(error, 'problem', None) or getattr(
        error, 'reason', None) or 'it cannot be parsed'
    return f'{name}{line} is not valid YAML: {problem}'.replace('\n', ' ')


def _describe(value):
    return 'a list' if isinstance(value, list) else 'a single value'
