"""Labels and annotations of the objects of a node.

The cluster can select objects by labels, but restricts their values.
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

import hashlib
import re

from zuul.model import NodesetRequest

NODE_TAG = 'zuul_node_uuid'
LENGTH = 63
NAME = re.compile(r'[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?')
# RFC 1123, without and with dots.
DNS_LABEL = re.compile(r'[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?')
SUBDOMAIN = re.compile(rf'(?=.{{1,253}}\Z){DNS_LABEL.pattern}'
                       rf'(?:\.{DNS_LABEL.pattern})*')
# Number of digits of the digest in a changed value.
DIGITS = 10
# Fields for dynamic-labels.
KNOWN = tuple(NodesetRequest().getSafeAttributes().toDict())


def isKey(text):
    """:return: whether a text is a valid key of a label or an annotation."""
    prefix, slash, name = text.rpartition('/')
    return bool(NAME.fullmatch(name)) and (
        not slash or bool(SUBDOMAIN.fullmatch(prefix)))


def fit(text):
    """
    :param str text: any text.
    :return: the text if it is a valid value of a label; otherwise its valid
        characters, with a digest that distinguishes it from other texts.
    """
    if not text or NAME.fullmatch(text):
        return text
    digest = hashlib.sha256(
        text.encode(errors='surrogatepass')).hexdigest()[:DIGITS]
    rest = re.sub('[^A-Za-z0-9_.-]+', '-', text)[:LENGTH - DIGITS - 1]
    return '-'.join(filter(None, (rest.strip('_.-'), digest)))


def makeMetadata(tags, annotations=None):
    """
    :param dict tags: of a node.
    :return: labels and annotations; the original of a changed label is an
        annotation.
    """
    labels = {key: fit(value) for key, value in tags.items()}
    return {'labels': labels, 'annotations': {
        **{key: value for key, value in tags.items() if value != labels[key]},
        **(annotations or {})}}


def getTags(thing):
    """:return: the tags of an object, from its labels and annotations."""
    metadata = thing['metadata']
    return {**(metadata.get('annotations') or {}),
            **(metadata.get('labels') or {})}
