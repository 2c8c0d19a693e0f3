"""Names of ours in the name spaces of AWS.

Images, labels and tags have names that people choose; AWS takes fewer, and
shorter ones.
"""

import dataclasses
import hashlib
import re

# Hexadecimal digits that tell two names apart of which AWS would take the
# same.
DIGITS = 16
# What a name ends with that has them.
MARKED = re.compile(rf'-[0-9a-f]{{{DIGITS}}}$')
# What cannot be written in any answer of AWS.
UNPRINTABLE = r'\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff'


@dataclasses.dataclass(frozen=True)
class NameSpace:
    """
    :ivar Pattern forbidden: what a name may not have, each in turn.
    :ivar int least, most: characters that it may have.
    """

    forbidden: re.Pattern
    least: int
    most: int


# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RegisterImage.html
IMAGES = NameSpace(re.compile(r"[^A-Za-z0-9()\[\] ./\-'@_]"), 3, 128)
# Of those that S3 takes, what needs no quoting anywhere.
OBJECTS = NameSpace(re.compile(r'[^A-Za-z0-9_.\-]|^\.+'), 1, 128)
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Tag.html
TAG_KEYS = NameSpace(re.compile(f'^aws:|[{UNPRINTABLE}]', re.I), 1, 127)
TAG_VALUES = NameSpace(re.compile(f'[{UNPRINTABLE}]'), 0, 256)


def fit(name, space):
    """
    :param str name: whatever it has in it.
    :param NameSpace space: where it goes.
    :return: the name if AWS takes it; otherwise what is left of it, and a
        mark.  The same name gives the same, another name something else.
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
    :param dict tags: key -> value, as they are configured.
    :return: a dictionary that AWS takes.
    """
    return {fit(str(key), TAG_KEYS): fit(str(value), TAG_VALUES)
            for key, value in tags.items()}


def _measure(text):
    # Some services count the halves of characters beyond the first 65536.
    return len(text.encode('utf-16-le', 'surrogatepass')) // 2
