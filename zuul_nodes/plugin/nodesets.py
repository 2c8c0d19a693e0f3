"""The seams at which the scheduler learns where a job has its nodes.

A label that the tenant has is ours, whatever has become of its providers:
"if a matching label is available in the tenant, the request will use the new
system" (specification).  Zuul asks Nodepool for it while no provider offers
it, where the request waits for ever.

Jobs that wait for a paused parent are to get theirs from the same
provider.  Zuul asks launchers for that, by the name of the provider in the
parent's NodesetInfo, but never writes it there (``LauncherClient`` has a
"TODO" in that place; for nodes of Nodepool it does).
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
        log.debug("Not falling back to Nodepool, for the tenant itself has "
                  "the labels that no provider offers: %s", missing)
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
    :param LauncherClient client: of a scheduler, which has no cache of
        nodes.
    :param NodesetRequest request: all of its nodes come from one provider,
        if any has them all.
    :return: the canonical name of the provider of its first node; None if
        that can't be told.
    """
    from zuul.model import ProviderNode
    node_id = request.nodes[0]
    try:
        # Zuul would read three records to make an object of it, and none of
        # a class that only launchers know.
        data, _ = client.zk_client.client.get(ProviderNode._getPath(node_id))
        _, record = ProviderNode._decompressData(data)
        provider = json.loads(record)['provider']
        if not isinstance(provider, str | None):
            raise TypeError(f'{provider!r} is not a name')
    except NoNodeError:
        log.debug("Node %s of %s is gone", node_id, request)
    except Exception:
        # The jobs get nodes all the same.
        log.exception("Unable to tell the provider of node %s:", node_id)
    else:
        return provider
    return None
