"""How things that have no metadata tell whose they are.

Servers, volumes and images have metadata.  Floating IPs and ports have a
description of at most 255 characters, which can be written as they are made
(Neutron's extension ``standard-attr-description``); that of ours has the
tags of the node in it.
"""

import json

# What of a node's tags finds it again.
SYSTEM = 'zuul_system_id'
NODE = 'zuul_node_uuid'
TAGS = (SYSTEM, NODE)
# Of images made of nodes: how their names begin, and the tag that they have.
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
    :param str description: of anybody's, or None.
    :return: the tags that it has; empty if it is none of ours.
    """
    try:
        tags = json.loads(description or '')
    except ValueError:
        return {}
    if not isinstance(tags, dict) or not all(
            isinstance(tags.get(name), str) for name in TAGS):
        return {}
    return tags
