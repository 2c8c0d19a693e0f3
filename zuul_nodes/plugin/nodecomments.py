"""The seam at which zuul-web shows a node's comment.

Zuul shows only the comment that a user gives with the next state.  This seam
shows the node's own comment otherwise, such as the reason of a failure.
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
