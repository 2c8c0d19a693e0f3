"""The seams at which the scheduler chooses the source of a job's nodes.

Nodes of a label that the tenant has come from launchers, even if no provider
offers it: "if a matching label is available in the tenant, the request will
use the new system" (specification).  While no provider offers the label, Zuul
would ask Nodepool, where the request waits forever.

Jobs that wait for a paused parent get nodes of the same provider.  Zuul asks
launchers for the provider in the parent's NodesetInfo, but sets it for nodes
of Nodepool only (``LauncherClient`` has a "TODO" in its place).
"""

import functools
import json
import logging

from kazoo.exceptions import NoNodeError

log = logging.getLogger('zuul.nodes.plugin')


def wrapUseNodepool(use, extensions):
    @functools.wraps(use)
    def wrapper(self, log, job):
        if not use(self, log, job):
            return False
        layout = self.tenant.layout
        missing = {node.label for node in job.nodeset.getNodes()}
        for provider in layout.providers.values():
            missing -= provider.labels.keys()
        if missing - layout.labels.keys():
            return True
        log.debug("Not falling back to Nodepool, because the tenant has the "
                  "labels that no provider offers: %s", missing)
        return False
    return wrapper


def wrapGetNodesetInfo(get, extensions):
    @functools.wraps(get)
    def wrapper(self, request):
        info = get(self, request)
        if request.fulfilled and request.nodes and not info.provider:
            info.provider = _findProvider(self, request)
        return info
    return wrapper


def _findProvider(client, request):
    """
    :param LauncherClient client: of a scheduler, which has no cache of nodes.
    :param NodesetRequest request: all of its nodes come from one provider, if
        a provider has all their labels.
    :return: the canonical name of the provider of its first node; None if
        unknown.
    """
    from zuul.model import ProviderNode
    node_id = request.nodes[0]
    try:
        # Zuul would read three records to create an object, and cannot read
        # nodes of classes that only launchers know.
        data, _ = client.zk_client.client.get(ProviderNode._getPath(node_id))
        _, record = ProviderNode._decompressData(data)
        provider = json.loads(record)['provider']
        if not isinstance(provider, str | None):
            raise TypeError(f'{provider!r} is not a name')
    except NoNodeError:
        log.debug("Node %s of %s is gone", node_id, request)
    except Exception:
        # The jobs get nodes anyway.
        log.exception("Unable to find the provider of node %s:", node_id)
    else:
        return provider
    return None
