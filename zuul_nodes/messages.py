"""What clouds and consoles say, without what is not for those who read it.

A cloud's message becomes something that tenants see, the record of a node or
a request or the output of a check, by way of :func:`forTenants`.  Operators'
logs have the whole of it, but for secrets, by :func:`withoutSecrets`.
"""

import re
import traceback

# No message that is longer tells people more.
LENGTH = 500
# Of more than this, nothing is looked at.
MOST = 20000

HEXTET = '[0-9A-Fa-f]{1,4}'
UUID = r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
# Either is a pattern, and what comes in its place.
SECRETS = (
    (r'\s?Encoded authorization failure message: \S+', ''),
    (r'-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)', '[secret]'),
    # Signatures, above all.
    (r'''\?[^\s)'"]+''', ''),
    (r'(?<=://)[^\s/@]+@', ''),
    # Of a pair of a name and a value.
    (r'''(?ix)(?<![\w/-])(
         (?=[\w-]{0,64}?(?:password|passwd|secret|token|api[_-]?key
         |access[_-]?key|authorization|credential|signature))
         [\w-]{1,96}+['"]?\s?[:=]\s?)
         (?:(['"]).*?\2|(?:(?:Bearer|Basic)\s+)?[^\s,;()}'"]+)''',
     r'\1[secret]'),
    (r'\b(Bearer|Basic)\s+[\w.~+/=-]{8,}', r'\1 [secret]'),
    # JSON Web Tokens, and those of Keystone, Google and AWS.
    (r'\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}', '[secret]'),
    (r'\bgAAAA[\w=-]{16,}', '[secret]'),
    (r'\bya29\.[\w.-]+', '[secret]'),
    (r'\b(?:AKIA|ASIA)[A-Z0-9]{16}\b', '[secret]'),
)
OPERATORS = (
    (r'(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s\'")\]}>]+',
     '[address]'),
    (r'\barn:aws[\w-]*:[^\s\'",;)\]}]+', '[account]'),
    (r'(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+', '[account]'),
    (r'\bsystem:[\w:.-]+', '[account]'),
    (r'\bprojects/[\w.:-]+', 'projects/[account]'),
    (r'(?i)/?\bsubscriptions/[\w-]+(?:/resourceGroups/[\w.-]+)?',
     '[account]'),
    # Accounts of AWS, and ids of Keystone; but not what Zuul names by one.
    (r'(?<![\w.-])\d{12}(?![\w-])', '[account]'),
    (r'(?i)(?<!\b(?:node|uuid)[\s=])(?<!\b(?:image)\s)(?<!\bupload\s)'
     r'(?<!\brequest\s)(?<!\bartifact\s)'
     r'(?<![\w-])[0-9a-f]{32}(?:[0-9a-f]{32})?(?![\w-])',
     '[account]'),
    (rf'''(?ix)\b((?:project|tenant|account|domain|user|owner|subscription
          |client|consumer|object)s?(?:[_\s-]?(?:id|number))?[\s:=\#'"(]*)
          (?:{UUID}|\d{{6,}})\b''', r'\1[account]'),
    # What libraries say of a connection that they do not get.
    (r'''(?ix)\b(?:\w*Connection(?:Pool)?\([^)]*\)|(?:to\sresolve|hostname
         |host|with\surl|endpoint\surl)\s?[:=]?\s?(?:"[^"]+"|'[^']+'|/\S+))''',
     '[address]'),
    (r'(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.-]*\w)',
     '[address]'),
    (rf'\[?(?<![\w:.])(?:(?:{HEXTET}:){{7}}{HEXTET}'
     rf'|(?:{HEXTET}(?::{HEXTET}){{0,6}})?::(?:{HEXTET}(?::{HEXTET}){{0,6}})?)'
     r'(?![\w:])(?:\]:\d+)?', '[address]'),
    (r'(?<![\w.-])[\w-]+(?:\.[\w-]+)+:\d{2,5}\b', '[address]'),
    (r'(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:internal|intranet|lan|local|localdomain|svc)'
     r'\b', '[address]'),
    # Files of the launcher.
    (r'(?<![\w.:/~\]-])~?/(?:[\w.+@%-]+/)+[\w.+@%-]*', '[path]'),
)


def _compile(rules):
    return [(re.compile(pattern, re.DOTALL), replacement)
            for pattern, replacement in rules]


_SECRETS = _compile(SECRETS)
_OPERATORS = _compile(OPERATORS)


def withoutSecrets(message):
    """
    :param message: a text or an exception.
    :return: it without passwords, tokens and the like, for operators.
    """
    return _apply(_SECRETS, str(message))


def getTraceback(error):
    """:return: where an exception was raised, as :func:`withoutSecrets`."""
    return withoutSecrets(''.join(traceback.format_exception(error)).rstrip())


def forTenants(message, known=()):
    """
    :param message: a text or an exception.
    :param known: ids and addresses that are the tenants' own.
    :return: it in one line, without what is the operator's, too: accounts,
        addresses, and names of files; not cut.
    """
    text = _apply(_OPERATORS, withoutSecrets(str(message)[:MOST]), known)
    # Escape sequences of terminals are not for people.
    text = ''.join(each if each.isprintable() else ' ' for each in text)
    return ' '.join(text.split())


def _apply(rules, text, known=()):
    for pattern, replacement in rules:
        text = pattern.sub(
            lambda match, instead=replacement: match[0]
            if match[0] in known else match.expand(instead), text)
    return text
