"""Nothing but plain data goes from git into ZooKeeper.

What YAML can express beyond that would raise wherever it is first
written down: dates, encrypted data, numbers of any size, strings that
are no Unicode text, structures that contain themselves.
"""

import math

from zuul_nodes.configloader.errors import ValueNotAllowedError

# Far more than anybody writes; far less than what an alias of an alias
# of an alias can stand for.
MAX_VALUES = 100_000
MAX_DEPTH = 40
MAX_NUMBER = 2 ** 63
# Zuul's YAML loader adds them to every mapping that looks like a stanza.
MARKS = ('_source_context', '_start_mark')


def copyStanza(conf):
    """
    :param dict conf: a stanza as Zuul's YAML loader returns it.
    :return: a copy that may be changed; with the loader's marks.
    :raises ValueNotAllowedError: it has something that is no plain data,
        or no name that can be part of a path in ZooKeeper.
    """
    marks = {mark: conf[mark] for mark in MARKS if mark in conf}
    copy = _Copier().copy(conf, ())
    if isinstance(copy.get('name'), str) and copy['name'] in ('', '.', '..'):
        raise ValueNotAllowedError(
            f'"{copy["name"]}" is not a name. Give it another')
    return copy | marks


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
            return self._copyMapping(value, path)
        if isinstance(value, list):
            return [self.copy(item, (*path, index))
                    for index, item in enumerate(value)]
        return _checkScalar(value, path)

    def _copyMapping(self, mapping, path):
        keys = [key for key in mapping if key not in MARKS]
        for key in keys:
            _checkScalar(key, path)
        if len({isinstance(key, str) for key in keys}) > 1:
            # They can't be sorted, and so no hash can be made of them.
            _refuse(path, 'keys that are strings and others that are not')
        return {key: self.copy(mapping[key], (*path, key)) for key in keys}


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
