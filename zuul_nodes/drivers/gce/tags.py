"""Zuul's tags, at resources that have labels.

Labels can't have what tags can: only small letters, and not many of them.
So a tag is a label if its key can be one (see :mod:`names`), with what can be
one of its value, for people and for filters.  All tags are where text can be
besides, and are read from there.
"""

import json

# Characters that a description may have.
DESCRIPTION = 2048
# What tells our text from that of others.
MARK = 'zuul-nodes'
# By these tags, what has them is found again.  Others may begin alike.
OWN = frozenset({'zuul_system_id', 'zuul_node_uuid', 'zuul_upload_uuid',
                 'zuul_expiration'})


def dump(tags, **more):
    """
    :param more: whatever else has to be known of the resource.
    :return: text.
    """
    return json.dumps({MARK: {'tags': tags, **more}}, sort_keys=True,
                      separators=(',', ':'))


def describe(tags):
    """:return: text for a description.  Tags that have no room there are
        left out, the longest first, and Zuul's own last."""
    kept = dict(tags)
    for key in sorted(tags, key=lambda key: (key in OWN, -len(tags[key]))):
        if len(dump(kept)) <= DESCRIPTION:
            break
        del kept[key]
    return dump(kept)


def load(text):
    """
    :param str text: of any resource.
    :return: a dict with ``tags``, and what else was given.
    """
    try:
        found = json.loads(text)[MARK]
        return found if isinstance(found['tags'], dict) else {'tags': {}}
    except (ValueError, TypeError, KeyError):
        return {'tags': {}}
