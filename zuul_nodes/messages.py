"""Filters for messages of clouds and consoles.

:func:`forTenants` prepares a message for tenants: for the record of a node or
a request, or for the output of a check.  :func:`forAllTenants` prepares what
is said of something that tenants share.  :func:`withoutSecrets` prepares a
message for the logs of operators, which contain everything except secrets.
"""

import re
import traceback

# Maximum length of a message for people, in characters.
LENGTH = 500
# Number of characters of a message that are examined at all.
MOST = 20000

HEXTET = '[0-9A-Fa-f]{1,4}'
UUID = r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
# Each rule is a pattern and its replacement.
SECRETS = (
    (r'\s?Encoded authorization failure message: \S+', ''),
    (r'-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)', '[secret]'),
    # Query strings, because they contain signatures.
    (r'''\?[^\s)'"]+''', ''),
    (r'(?<=://)[^\s/@]+@', ''),
    # The value of a pair of a secret's name and a value.
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
    # PROJECT stands for any project in our own messages.
    (r'\bprojects/(?!PROJECT/)[\w.:-]+', 'projects/[account]'),
    (r'(?i)/?\bsubscriptions/[\w-]+(?:/resourceGroups/[\w.-]+)?',
     '[account]'),
    # Account ids of AWS, and ids of Keystone; except ids of Zuul's objects.
    (r'(?<![\w.-])\d{12}(?![\w-])', '[account]'),
    (r'(?i)(?<!\b(?:node|uuid)[\s=])(?<!\b(?:image)\s)(?<!\bupload\s)'
     r'(?<!\brequest\s)(?<!\bartifact\s)'
     r'(?<![\w-])[0-9a-f]{32}(?:[0-9a-f]{32})?(?![\w-])',
     '[account]'),
    (rf'''(?ix)\b((?:project|tenant|account|domain|user|owner|subscription
          |client|consumer|object)s?(?:[_\s-]?(?:id|number))?[\s:=\#'"(]*)
          (?:{UUID}|\d{{6,}})\b''', r'\1[account]'),
    # Errors of HTTP libraries about failed connections.
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
    # Paths on the launcher; fingerprints of keys contain slashes, too.
    (r'(?<![\w.:/~+\]-])~?/(?:[\w.+@%-]+/)+[\w.+@%-]*', '[path]'),
)


REQUESTS = ((r'(?<=\brequest )[0-9a-f]{32}(?![\w-])', '[id]'),)
IDS = ((rf'(?<![\w-])(?:[0-9a-f]{{32}}|{UUID})(?![\w-])', '[id]'),)


def _compile(rules):
    return [(re.compile(pattern, re.DOTALL), replacement)
            for pattern, replacement in rules]


_SECRETS = _compile(SECRETS)
_OPERATORS = _compile(OPERATORS)
_REQUESTS = _compile(REQUESTS)
_IDS = _compile(IDS)


def shorten(message):
    """:return: a message for records that operators read, without secrets and
        of limited length."""
    return withoutSecrets(message)[:LENGTH]


def withoutSecrets(message):
    """
    :param message: a text or an exception.
    :return: the text without passwords, tokens and the like, for operators.
    """
    return _apply(_SECRETS, str(message))


def getTraceback(error):
    """:return: the traceback of an exception, without secrets."""
    return withoutSecrets(''.join(traceback.format_exception(error)).rstrip())


def forTenants(message, known=()):
    """
    :param message: a text or an exception.
    :param known: the tenant's own ids and addresses, which are kept.
    :return: the text in one line, without secrets and without operators'
        accounts, addresses and paths; not truncated.
    """
    text = _apply(_OPERATORS, withoutSecrets(str(message)[:MOST]), known)
    # Remove escape sequences of terminals.
    text = ''.join(each if each.isprintable() else ' ' for each in text)
    return ' '.join(text.split())


def withoutOtherRequests(text, own):
    """
    :param text: for a tenant.
    :param own: ids of requests of the tenant, which are kept.
    :return: the text without the ids of other requests.
    """
    return _apply(_REQUESTS, text, own)


def forAllTenants(message):
    """
    :param message: about what tenants share.
    :return: as of :func:`forTenants`, without the ids of Zuul's objects, each
        of which is one tenant's.
    """
    return _apply(_IDS, forTenants(message))


def _apply(rules, text, known=()):
    for pattern, replacement in rules:
        text = pattern.sub(
            lambda match, instead=replacement: match[0]
            if match[0] in known else match.expand(instead), text)
    return text
