"""Keep secrets out of all that is written or shown.

Secrets are replaced when a file is read, so that no other part of the
converter ever has one.
"""

import re

from zuul_nodes import messages

# Names of attributes and variables whose values are secrets.
NAMES = re.compile(
    r'(?i)passw|passphrase|secret(?!s$)|token|private[_-]?key|api[_-]?key'
    r'|access[_-]?key|credentials?$')
# Query strings are left out of messages, but are no secrets.
PATTERNS = tuple(re.compile(pattern, re.DOTALL)
                 for pattern, _ in messages.SECRETS
                 if not pattern.startswith(r'\?'))
# As in "lock_passwd: true" of cloud-init, and in "NOPASSWD:ALL" of sudo.
HARMLESS = frozenset(('true', 'false', 'yes', 'no', 'null', 'none', 'all'))
# Shorter texts would be found by chance.
SHORTEST = 5


class Placeholder(str):
    """Stands for a secret; the text is what has to be replaced.

    :ivar str name: of the attribute or variable.
    """

    def __new__(cls, name, number):
        word = re.sub(r'\W+', '_', str(name)).strip('_').upper() or 'VALUE'
        self = super().__new__(
            cls, f'REPLACE_ME_{word}{f"_{number}" if number > 1 else ""}')
        self.name = str(name)
        return self


class Secrets:
    """Recognizes secrets.

    :ivar dict found: :class:`Placeholder` -> the :class:`Origin` of the
        secret.
    """

    def __init__(self):
        self._values = set()
        # Aliases of YAML lead to the same place again.
        self._places = {}
        self.found = {}

    def add(self, value):
        """Treat a value as a secret, wherever it appears."""
        if len(str(value)) >= SHORTEST:
            self._values.add(str(value))

    def replace(self, name, value, origin):
        """:return: the value, or a placeholder if it is a secret."""
        if isinstance(value, bool) or value in (None, ''):
            return value
        if isSecretName(name) or self.isSecret(str(value)):
            self.add(value)
            return self.hide(name, origin)
        return value

    def hide(self, name, origin):
        """:return: the :class:`Placeholder` for the value in that place."""
        place = (str(name), origin.file, origin.line)
        if place not in self._places:
            self._places[place] = self._make(name, origin)
        return self._places[place]

    def _make(self, name, origin):
        number = 1
        while (placeholder := Placeholder(name, number)) in self.found:
            number += 1
        self.found[placeholder] = origin
        return placeholder

    def isSecret(self, text):
        return (any(value in text for value in self._values)
                or any(_isIn(text, pattern) for pattern in PATTERNS))

    def clean(self, text):
        """:return: a text for people, without secrets."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, '[secret]')
        return messages.withoutSecrets(text)


def _isIn(text, pattern):
    for match in pattern.finditer(text):
        # The other group is the name of a value.
        value = match[0][len(match[1]):] if pattern.groups > 1 else match[0]
        if value.endswith('@') and ':' not in value:
            continue
        if value.strip(' \'"').lower() not in HARMLESS:
            return True
    return False


def isSecretName(name):
    return isinstance(name, str) and bool(NAMES.search(name))
