"""The seams at which Zuul's own launcher goes on with what ours has begun.

Both serve at once while a site changes from one to the other, and one that
dies leaves its work to those that are left.  Two records of ours say more
than Zuul's launcher writes itself, and it would wait for ever.
"""

import functools


def wrapHasQuotaForNode(hasQuota, extensions):
    """A node that ours has granted is being built, and counts, before the
    cloud was asked for it; where it is one of those that take all of the
    room, Zuul's would wait for it to go."""
    @functools.wraps(hasQuota)
    def wrapper(self, provider, node, messages):
        return node.state == node.State.BUILDING or hasQuota(
            self, provider, node, messages)
    return wrapper


def wrapCachesReady(areReady, extensions):
    """A request of ours whose nodes have failed waits without any, and
    says of each where it has failed; Zuul's would wait for these nodes.
    It begins anew."""
    @functools.wraps(areReady)
    def wrapper(self, request):
        if request.state == request.State.REQUESTED and (
                not any(request.nodes)):
            request._set(provider_node_data=[])
        return areReady(self, request)
    return wrapper
