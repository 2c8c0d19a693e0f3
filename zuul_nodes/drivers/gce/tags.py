"""Store Zuul's tags in resources that have labels.

Labels accept fewer characters than tags, and only a limited number.  So a tag
becomes a label only if its key is valid (see :mod:`names`), with a valid form
of its value, for operators and for filters.  A text field of the resource
contains all tags, and the driver reads them from there.
"""

import json

# Maximum number of characters of a description.
DESCRIPTION = 2048
# Identifies our texts.
MARK = 'zuul-nodes'
# The tags by which Zuul finds its resources.
OWN = frozenset({'zuul_system_id', 'zuul_node_uuid', 'zuul_upload_uuid',
                 'zuul_expiration'})


def dump(tags, **more):
    """
    :param more: other attributes of the resource.
    :return: a string.
    """
    return json.dumps({MARK: {'tags': tags, **more}}, sort_keys=True,
                      separators=(',', ':'))


def describe(tags):
    """:return: a description.  If tags are too long for it, the longest are
        omitted first, and Zuul's own last."""
    kept = dict(tags)
    for key in sorted(tags, key=lambda key: (key in OWN, -len(tags[key]))):
        if len(dump(kept)) <= DESCRIPTION:
            break
        del kept[key]
    return dump(kept)


def load(text):
    """
    :param str text: of any resource.
    :return: a dict with ``tags``, and the other attributes.
    """
    try:
        found = json.loads(text)[MARK]
        return found if isinstance(found['tags'], dict) else {'tags': {}}
    except (ValueError, TypeError, KeyError):
        return {'tags': {}}
