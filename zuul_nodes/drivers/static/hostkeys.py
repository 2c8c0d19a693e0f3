"""Parse host keys as tenants write them."""

import base64
import binascii
import itertools

FORM = ('A host key is a line such as "ssh-ed25519 AAAAC3Nz..."; '
        '"ssh-keyscan <host>" prints the keys of a host')


def splitHostKeys(value):
    """
    :param value: ``host-key`` of a node: None, a string or a list of
        strings, each of one or more lines.
    :return: a list of the lines, without empty lines and comments.
    """
    if value is None:
        return []
    strings = [value] if isinstance(value, str) else value
    lines = (line.strip() for string in strings
             for line in string.splitlines())
    return [line for line in lines if line and not line.startswith('#')]


def parseHostKey(line):
    """
    :param str line: a public key as ``ssh-keyscan``, ``known_hosts`` or
        a file ``ssh_host_*_key.pub`` has it: an optional host, the type,
        the key, an optional comment.
    :return: the type and the key, separated by a space, which the executor
        writes into ``known_hosts`` after a host's address.
    :raises ValueError: the line has no host key.  The message does not
        contain the line, which may be a secret.
    """
    words = line.split()
    if words and words[0].startswith('@'):
            raise ValueError(f'"{words[0]}" is not a key of a single host')
    for key_type, key in itertools.pairwise(words):
        fields = _readFields(key)
        if len(fields) > 1 and fields[0] == key_type.encode():
            return f'{key_type} {key}'
    raise ValueError('the line contains no complete host key')


def readHostKey(line):
    """
    :param str line: as for :func:`parseHostKey`.
    :return: the same, or the line itself if it is invalid.
    """
    try:
        return parseHostKey(line)
    except ValueError:
        return line


def _readFields(word):
    """:return: the fields of a public key (RFC 4253, section 6.6), or []."""
    try:
        data = base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        return []
    fields = []
    while data:
        length = int.from_bytes(data[:4], 'big')
        field, data = data[4:4 + length], data[4 + length:]
        if len(field) < max(length, 1):
            return []
        fields.append(field)
    return fields
