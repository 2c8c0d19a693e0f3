"""Restrict configuration to plain data before it reaches ZooKeeper.

YAML can express values that JSON and ZooKeeper cannot store: dates, encrypted
data, unbounded numbers, strings that are not valid Unicode, and structures
that contain themselves.  Without this check, such a value raises wherever
Zuul first serializes it.
"""

import math

from zuul import model

from zuul_nodes.configloader.errors import ValueNotAllowedError
from zuul_nodes.suggestions import quote

# Far more than a real stanza has, and far less than nested YAML aliases can
# expand to.
MAX_VALUES = 100_000
MAX_DEPTH = 40
MAX_NUMBER = 2 ** 63
# Names become parts of paths and keys become parts of messages.  Some keys
# of Kubernetes annotations are longer than any name.
MAX_NAME = 250
MAX_KEY = 400
# Zuul's YAML loader adds these to every mapping that looks like a stanza.
MARKS = {'_source_context': model.SourceContext,
         '_start_mark': model.ZuulMark}


def copyStanza(conf):
    """Copy a stanza and check that it is plain data.

    :param dict conf: a stanza as Zuul's YAML loader returns it.  Values that
        Zuul cannot show in an error are removed from it.
    :return: a copy that may be changed, with the loader's marks.
    :raises ValueNotAllowedError: a value is not plain data, or the name
        cannot be part of a path in ZooKeeper.
    """
    values = dict(conf)
    _removeUnshowable(conf)
    marks = {mark: conf[mark] for mark in MARKS if mark in conf}
    copy = _Copier().copy(values, ())
    name = copy.get('name')
    if isinstance(name, str) and (
            name in ('', '.', '..') or len(name) > MAX_NAME):
        raise ValueNotAllowedError(f'{quote(name)} is not a valid name. '
                                   f'Choose another, of at most {MAX_NAME} '
                                   f'characters')
    return copy | marks


def _removeUnshowable(conf):
    """Remove what Zuul cannot show in an error message.

    Every error of Zuul's shows the name and the location of the stanza as
    they are.  A name made of nested aliases would fill the memory, and a
    value in place of a loader's mark would raise.

    :raises ValueNotAllowedError: the stanza sets one of the loader's marks.
    """
    if not isinstance(conf.get('name', ''), str):
        del conf['name']
    written = [mark for mark, cls in MARKS.items()
               if not isinstance(conf.get(mark), cls | None)]
    for mark in written:
        del conf[mark]
    if written:
        error = ValueNotAllowedError(
            f'"{written[0]}" is an attribute that Zuul itself adds. Remove it')
        # Otherwise Zuul would take the written value for the file's location.
        error.source_context = None
        raise error


class Mapping(dict):
    """A mapping as it is written in a file.

    ``line`` is its first line, counted from 0; None if unknown.
    """

    line = None


class Replacement(list):
    """A list that replaces inherited values instead of extending them.

    In YAML it is a mapping: ``replace: [...]``.
    """


REPLACE = 'replace'


def keepReplacing(conf, parse):
    """Keep the :class:`Replacement` lists of a stanza through parsing.

    :param dict conf: a copied stanza.
    :param parse: a function that makes a configuration object of the stanza
        and returns plain lists.
    :return: the object; the lists in its ``config`` are of the class
        Replacement where those of the stanza are.
    """
    replacing = [name for name, value in conf.items()
                 if isinstance(value, Replacement)]
    config_object = parse(conf)
    for name in replacing:
        config_object.config[name] = Replacement(config_object.config[name])
    return config_object


def toData(value):
    """
    :param value: of a stanza that :func:`copyStanza` has copied.
    :return: a copy that keeps its meaning as JSON.
    """
    if isinstance(value, dict):
        return {key: toData(each) for key, each in value.items()}
    if isinstance(value, list):
        copy = [toData(each) for each in value]
        return {REPLACE: copy} if isinstance(value, Replacement) else copy
    return value


class _Copier:

    def __init__(self):
        self.count = 0

    def copy(self, value, path):
        """:param tuple path: the keys and indexes that lead to the value."""
        self.count += 1
        if self.count > MAX_VALUES:
            _refuse(path[:1], f'more than {MAX_VALUES} values in one stanza')
        if len(path) > MAX_DEPTH:
            _refuse(path[:1], f'nested more than {MAX_DEPTH} levels deep')
        if isinstance(value, dict):
            copy = self._copyMapping(value, path)
            if path and _isReplacement(copy):
                return Replacement(copy[REPLACE])
            return copy
        if isinstance(value, list):
            return [self.copy(item, (*path, index))
                    for index, item in enumerate(value)]
        return _checkScalar(value, path)

    def _copyMapping(self, mapping, path):
        keys = [key for key in mapping if key not in MARKS]
        for key in keys:
            _checkScalar(key, path)
            if isinstance(key, str) and len(key) > MAX_KEY:
                _refuse(path, f'a key of more than {MAX_KEY} characters')
        if len({_getOrder(key) for key in keys}) > 1:
            # Zuul sorts the keys to compute hashes.
            _refuse(path, 'keys of several kinds: strings, numbers, null')
        # Plain strings: the loader's keys carry a line and are slow.
        copy = Mapping((str(key) if isinstance(key, str) else key,
                        self.copy(mapping[key], (*path, key)))
                       for key in keys)
        if keys:
            copy.line = getattr(keys[0], 'line', None)
        return copy


def _isReplacement(mapping):
    return mapping.keys() == {REPLACE} and isinstance(
        mapping[REPLACE], list)


def _getOrder(key):
    """:return: a value that is equal for keys that sort together."""
    if key is None:
        return None
    return str if isinstance(key, str) else float


def _checkScalar(value, path):
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse(path, 'characters that Unicode does not have')
    elif value is None or isinstance(value, bool):
        pass
    elif isinstance(value, int):
        if abs(value) >= MAX_NUMBER:
            _refuse(path, 'a number of more than 64 bits')
    elif isinstance(value, float):
        if not math.isfinite(value):
            _refuse(path, 'not a finite number')
    else:
        _refuse(path, f'a value of the type {type(value).__name__}; quote it '
                f'if it is meant as text')
    return value


def _refuse(path, what):
    where = ''.join(f'[{key}]' if isinstance(key, int) else f'.{key}'
                    for key in path).lstrip('.')
    # Short and printable, whatever the keys contain.
    where = ascii(where[:80])[1:-1] or 'the stanza'
    raise ValueNotAllowedError(f'At {where}: {what}')
