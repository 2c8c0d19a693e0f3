"""Nothing but plain data goes from git into ZooKeeper.

What YAML can express beyond that would raise wherever it is first
written down: dates, encrypted data, numbers of any size, strings that
are no Unicode text, structures that contain themselves.
"""

import math

from zuul import model

from zuul_nodes.configloader.errors import ValueNotAllowedError
from zuul_nodes.suggestions import quote

# Far more than anybody writes; far less than what an alias of an alias
# of an alias can stand for.
MAX_VALUES = 100_000
MAX_DEPTH = 40
MAX_NUMBER = 2 ** 63
# Names are part of paths, keys of messages; some keys of annotations in
# Kubernetes are longer than any name.
MAX_NAME = 250
MAX_KEY = 400
# Zuul's YAML loader adds them to every mapping that looks like a stanza.
MARKS = {'_source_context': model.SourceContext,
         '_start_mark': model.ZuulMark}


def copyStanza(conf):
    """
    :param dict conf: a stanza as Zuul's YAML loader returns it; is
        relieved of what Zuul can't show with an error.
    :return: a copy that may be changed; with the loader's marks.
    :raises ValueNotAllowedError: it has something that is no plain data,
        or no name that can be part of a path in ZooKeeper.
    """
    values = dict(conf)
    _removeUnshowable(conf)
    marks = {mark: conf[mark] for mark in MARKS if mark in conf}
    copy = _Copier().copy(values, ())
    name = copy.get('name')
    if isinstance(name, str) and (
            name in ('', '.', '..') or len(name) > MAX_NAME):
        raise ValueNotAllowedError(f'{quote(name)} is not a name. Give it '
                                   f'another, of up to {MAX_NAME} characters')
    return copy | marks


def _removeUnshowable(conf):
    """
    Whatever is wrong with a stanza, Zuul shows its name and its place, as
    they are: aliases of aliases until the memory is full, and what is
    written in place of the loader's marks not at all, for it raises.

    :raises ValueNotAllowedError: there is something in place of a mark.
    """
    if not isinstance(conf.get('name', ''), str):
        del conf['name']
    written = [mark for mark, cls in MARKS.items()
               if not isinstance(conf.get(mark), cls | None)]
    for mark in written:
        del conf[mark]
    if written:
        error = ValueNotAllowedError(
            f'"{written[0]}" is an attribute that Zuul itself adds. Take it '
            f'out')
        # Or Zuul would take what is there for the file it is in.
        error.source_context = None
        raise error


class Mapping(dict):
    """A mapping as it stands in a file.

    ``line`` is where it begins, counted from 0; None if not known.
    """

    line = None


class Replacement(list):
    """A list that takes the place of what is said elsewhere.

    It is written as a mapping: ``replace: [...]``.
    """


REPLACE = 'replace'


def keepReplacing(conf, parse):
    """
    :param dict conf: a copied stanza.
    :param parse: a function that makes a configuration object of it, with
        plain lists of entries.
    :return: the object, with lists in its ``config`` that replace where those
        of the stanza do.
    """
    replacing = [name for name, value in conf.items()
                 if isinstance(value, Replacement)]
    config_object = parse(conf)
    for name in replacing:
        config_object.config[name] = Replacement(config_object.config[name])
    return config_object


class _Copier:

    def __init__(self):
        self.count = 0

    def copy(self, value, path):
        """:param tuple path: the keys and indexes that lead to it."""
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
            # They can't be sorted, and so no hash can be made of them.
            _refuse(path, 'keys of several kinds: strings, numbers, null')
        # The loader's keys know their line, and are slow for it.
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
    """:return: what keys have in common that can be sorted."""
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
        _refuse(path, f'a value of the type {type(value).__name__}; put it '
                f'in quotes if it is meant as text')
    return value


def _refuse(path, what):
    where = ''.join(f'[{key}]' if isinstance(key, int) else f'.{key}'
                    for key in path).lstrip('.')
    # No more than is readable, and that as readable characters.
    where = ascii(where[:80])[1:-1] or 'the stanza'
    raise ValueNotAllowedError(f'At {where}: {what}')
