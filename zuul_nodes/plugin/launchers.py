"""The seams at which Zuul's launcher continues the work of ours.

During a migration, both launchers serve a site at the same time, and each
continues the work of one that has died.  Two records of our launcher differ
from those of Zuul's, which would wait forever without these seams.
"""

import functools


def wrapHasQuotaForNode(hasQuota, extensions):
    """Let a building node of ours pass the quota check.

    Our launcher counts a node against the quota before it asks the cloud for
    an instance.  If the node needs the whole quota, Zuul's launcher would wait
    for that same node to be deleted.
    """
    @functools.wraps(hasQuota)
    def wrapper(self, provider, node, messages):
        return node.state == node.State.BUILDING or hasQuota(
            self, provider, node, messages)
    return wrapper


def wrapCachesReady(areReady, extensions):
    """Reset a request of ours whose nodes have failed.

    Such a request has no nodes, but records where each of them failed.
    Zuul's launcher would wait for these nodes.
    """
    @functools.wraps(areReady)
    def wrapper(self, request):
        if request.state == request.State.REQUESTED and (
                not any(request.nodes)):
            request._set(provider_node_data=[])
        return areReady(self, request)
    return wrapper
