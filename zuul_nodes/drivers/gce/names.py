"""Names and labels that Google takes, made of texts that may be anything.

Sources:
https://cloud.google.com/compute/docs/naming-resources
https://cloud.google.com/compute/docs/labeling-resources#requirements
"""

import hashlib
import itertools
import re

from zuul_nodes.drivers.gce.tags import OWN

NAME = re.compile(r'[a-z]([a-z0-9-]{0,61}[a-z0-9])?')
# Labels that begin with "goog" are Google's.
KEY = re.compile(r'(?!goog)[a-z][a-z0-9_-]{0,62}')
VALUE = re.compile(r'[a-z0-9_-]{0,63}')
LABELS = 64
# Characters of a name that people recognize, and of what tells it from others.
STEM = 40
DIGEST = 16


def makeName(text):
    """
    :param str text: that nothing else of the kind has.
    :return: the name of an image, an instance or its disk: the text itself if
        it can be one; the same for the same text, and another for another.
    """
    if NAME.fullmatch(text):
        return text
    stem = re.sub(r'[^a-z0-9]+', '-', text.lower())[:STEM].strip('-')
    digest = hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()
    # Names begin with a letter.
    prefix = '' if stem[:1].isalpha() else 'zuul-'
    return f'{prefix}{stem}-{digest[:DIGEST]}'.replace('--', '-')


def fitValue(text):
    """
    :param str text: anything.
    :return: the same if it can be the value of a label; if not, what of it
        can be one, with a digest that tells it from other texts.
    """
    if VALUE.fullmatch(text):
        return text
    stem = re.sub(r'[^a-z0-9_]+', '-', text.lower())[:STEM].strip('-')
    digest = hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()
    return f'{stem}-{digest[:DIGEST]}'


def makeLabels(tags):
    """
    :param dict tags: of a resource, which has all of them besides in text.
    :return: a dict with those whose keys can be those of labels, Zuul's own
        first.
    """
    # False comes before true.
    order = sorted(tags, key=lambda key: key not in OWN)
    return dict(itertools.islice((
        (key, fitValue(tags[key])) for key in order
        if KEY.fullmatch(key)), LABELS))
