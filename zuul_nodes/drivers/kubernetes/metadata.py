"""What Kubernetes is told of a node besides what it is.

Labels of Kubernetes can be looked for, but not everything can be one.
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
"""

import re

from zuul.model import NodesetRequest

NODE_TAG = 'zuul_node_uuid'
NAME = re.compile(r'[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?')
PREFIX = re.compile(r'[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?')
# As people write them in dynamic-labels; Nodepool has "request." there.
PLACEHOLDER = re.compile(r'\{(?:request\.)?(\w+)\}')
KNOWN = tuple(NodesetRequest().getSafeAttributes().toDict())


def isKey(text):
    """:return: whether a label or an annotation can have this key."""
    prefix, slash, name = text.rpartition('/')
    return bool(NAME.fullmatch(name)) and (
        not slash or bool(PREFIX.fullmatch(prefix)))


def makeMetadata(tags, annotations=None):
    """
    :param dict tags: of a node.
    :return: labels and annotations; what no label can be is an annotation.
    """
    labels = {key: value for key, value in tags.items()
              if not value or NAME.fullmatch(value)}
    return {'labels': labels, 'annotations': {
        **{key: value for key, value in tags.items() if key not in labels},
        **(annotations or {})}}


def getTags(thing):
    """:return: what it was tagged with, and perhaps more."""
    metadata = thing['metadata']
    return {**(metadata.get('annotations') or {}),
            **(metadata.get('labels') or {})}


def findUnknown(template):
    """:return: the first name in a dynamic label that no request has, or
        None."""
    return next((name for name in PLACEHOLDER.findall(template)
                 if name not in KNOWN), None)


def fillIn(template, request):
    """
    :param str template: a dynamic label.
    :param NodesetRequest request:
    :return: the same with what the request says.
    """
    attributes = request.getSafeAttributes().toDict()
    # Not str.format: tenants write this, and that shows them what is inside.
    return PLACEHOLDER.sub(
        lambda match: str(attributes[match[1]] or ''), template)
