"""The seam at which zuul-web tells of a node's comment.

Zuul tells only what a user has said along with the next state.  Without that,
the comment of the node itself is hidden, such as why it has failed.
"""

import functools


def wrapToDict(convert, extensions):
    @functools.wraps(convert)
    def wrapper(node):
        data = convert(node)
        if data['comment'] is None:
            data['comment'] = getattr(node, 'comment', None)
        return data
    return staticmethod(wrapper)
