"""Make names and tags valid for AWS.

Tenants choose names of images, labels and tags; AWS accepts fewer characters
and shorter names.
"""

import dataclasses
import hashlib
import re

# Hexadecimal digits of the mark that distinguishes changed names.
DIGITS = 16
# The suffix of names with a mark.
MARKED = re.compile(rf'-[0-9a-f]{{{DIGITS}}}$')
# Characters that AWS cannot encode in its answers.
UNPRINTABLE = r'\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff'


@dataclasses.dataclass(frozen=True)
class NameSpace:
    """The rules for a kind of name.

    :ivar Pattern forbidden: matches each forbidden part of a name.
    :ivar int least, most: number of characters.
    """

    forbidden: re.Pattern
    least: int
    most: int


# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RegisterImage.html
IMAGES = NameSpace(re.compile(r"[^A-Za-z0-9()\[\] ./\-'@_]"), 3, 128)
# Characters that S3 accepts and that never need quoting.
OBJECTS = NameSpace(re.compile(r'[^A-Za-z0-9_.\-]|^\.+'), 1, 128)
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Tag.html
TAG_KEYS = NameSpace(re.compile(f'^aws:|[{UNPRINTABLE}]', re.I), 1, 127)
TAG_VALUES = NameSpace(re.compile(f'[{UNPRINTABLE}]'), 0, 256)


def fit(name, space):
    """
    :param str name: with any characters.
    :param NameSpace space: the rules for the name.
    :return: the name if it is valid; otherwise a valid name with a mark.
        Equal names give equal results, and different names different ones.
    """
    words = space.forbidden.sub('-', name)
    if words == name and not MARKED.search(name) and (
            space.least <= _measure(name) <= space.most):
        return name
    digest = hashlib.sha256(name.encode('utf-8', 'surrogatepass'))
    mark = f'-{digest.hexdigest()[:DIGITS]}'
    while _measure(words) + len(mark) > space.most:
        words = words[:-1]
    return words + mark


def fitTags(tags):
    """
    :param dict tags: key -> value, as configured.
    :return: a dictionary with keys and values that AWS accepts.
    """
    return {fit(str(key), TAG_KEYS): fit(str(value), TAG_VALUES)
            for key, value in tags.items()}


def _measure(text):
    # Some services count UTF-16 code units.
    return len(text.encode('utf-16-le', 'surrogatepass')) // 2
