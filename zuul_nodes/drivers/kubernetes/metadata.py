"""What Kubernetes is told of a node besides what it is.

Labels of Kubernetes can be looked for, but not everything can be one.
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
# Of a digest, in a name that is not what it was.
DIGITS = 10
# What people may fill in in dynamic-labels.
KNOWN = tuple(NodesetRequest().getSafeAttributes().toDict())


def isKey(text):
    """:return: whether a label or an annotation can have this key."""
    prefix, slash, name = text.rpartition('/')
    return bool(NAME.fullmatch(name)) and (
        not slash or bool(SUBDOMAIN.fullmatch(prefix)))


def fit(text):
    """
    :param str text: anything.
    :return: the same if it can be the value of a label; if not, what of it
        can be one, with a digest that tells it from other texts.
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
    :return: labels and annotations; what does not fit in a label is in an
        annotation as well.
    """
    labels = {key: fit(value) for key, value in tags.items()}
    return {'labels': labels, 'annotations': {
        **{key: value for key, value in tags.items() if value != labels[key]},
        **(annotations or {})}}


def getTags(thing):
    """:return: what it was tagged with as far as it fits in labels, and
        perhaps more."""
    metadata = thing['metadata']
    return {**(metadata.get('annotations') or {}),
            **(metadata.get('labels') or {})}
