"""Mark resources without metadata as ours.

Servers, volumes and images have metadata.  Floating IPs and ports have a
description of at most 255 characters, which can be set on creation (Neutron's
extension ``standard-attr-description``).  The description of ours contains
the tags of the node.
"""

import json

# Those tags of a node that identify it.
SYSTEM = 'zuul_system_id'
NODE = 'zuul_node_uuid'
TAGS = (SYSTEM, NODE)
# Prefix of the names of images made from nodes, and their tag.
SNAPSHOT = 'zuul-snapshot-'
EXPIRATION = 'zuul_expiration'


def describe(tags):
    """
    :param dict tags: of a node.
    :return: a description, a string.
    """
    return json.dumps({name: tags[name] for name in TAGS if name in tags})


def getTags(description):
    """
    :param str description: of any resource, or None.
    :return: the tags in it; empty if the resource is not ours.
    """
    try:
        tags = json.loads(description or '')
    except ValueError:
        return {}
    if not isinstance(tags, dict) or not all(
            isinstance(tags.get(name), str) for name in TAGS):
        return {}
    return tags
