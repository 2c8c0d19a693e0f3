"""Make names and labels valid for Google.

Sources:
https://cloud.google.com/compute/docs/naming-resources
https://cloud.google.com/compute/docs/labeling-resources#requirements
"""

import hashlib
import itertools
import re

from zuul_nodes.drivers.gce.tags import OWN

NAME = re.compile(r'[a-z]([a-z0-9-]{0,61}[a-z0-9])?')
# Labels that begin with "goog" are reserved for Google.
KEY = re.compile(r'(?!goog)[a-z][a-z0-9_-]{0,62}')
VALUE = re.compile(r'[a-z0-9_-]{0,63}')
LABELS = 64
# Characters of the readable part of a name, and of its digest.
STEM = 40
DIGEST = 16


def makeName(text):
    """
    :param str text: unique among resources of a kind.
    :return: the name of an image, an instance or its disk: the text itself if
        it is valid; otherwise a name that is equal for equal texts only.
    """
    if NAME.fullmatch(text):
        return text
    stem = re.sub(r'[^a-z0-9]+', '-', text.lower())[:STEM].strip('-')
    digest = hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()
    # Names must begin with a letter.
    prefix = '' if stem[:1].isalpha() else 'zuul-'
    return f'{prefix}{stem}-{digest[:DIGEST]}'.replace('--', '-')


def fitValue(text):
    """
    :param str text: any text.
    :return: the text if it is a valid value of a label; otherwise its valid
        characters, with a digest that distinguishes it from other texts.
    """
    if VALUE.fullmatch(text):
        return text
    stem = re.sub(r'[^a-z0-9_]+', '-', text.lower())[:STEM].strip('-')
    digest = hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()
    return f'{stem}-{digest[:DIGEST]}'


def makeLabels(tags):
    """
    :param dict tags: of a resource, which also has all of them in a text.
    :return: a dict with those whose keys are valid for labels, Zuul's own
        first.
    """
    # False sorts before true.
    order = sorted(tags, key=lambda key: key not in OWN)
    return dict(itertools.islice((
        (key, fitValue(tags[key])) for key in order
        if KEY.fullmatch(key)), LABELS))
