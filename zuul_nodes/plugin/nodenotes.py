"""The seam at which the record of a node keeps what the launcher adds to it.

Any process that has the plugin keeps the additions when it writes the record.
Jobs do not see them.
"""

import functools

from zuul_nodes import nodenotes


def wrapGetNodeData(getData, extensions):
    @functools.wraps(getData)
    def wrapper(self, serialize_node=False):
        data = getData(self, serialize_node)
        if serialize_node and (notes := nodenotes.get(self)):
            data[nodenotes.NOTES] = notes
        return data
    return wrapper
