"""The limits of a tenant, and its providers: limits, nodes and pauses."""

import collections
import logging
import time
from typing import NamedTuple
import zlib

from zuul_nodes import (
    messages,
    nodeusage,
    providerrecords,
    providerstatus,
    tenantlimits,
    zkrecords,
)
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.web.cache import Cache

log = logging.getLogger('zuul.nodes.web')
# Seconds for which what was read is used.
LIFETIME = 5


class Usage(NamedTuple):
    """What there is of all providers and tenants at one time.

    :ivar statuses: canonical name of a provider -> as of
        :func:`.providerstatus.read`.
    :ivar used: as of :func:`.nodeusage.sumUp`.
    :ivar counts: as of :func:`.nodeusage.countNodes`.
    :ivar totals: canonical name of a provider -> Counter of its nodes.
    :ivar tenants_used: as of :func:`.nodeusage.sumUpTenants`.
    :ivar tenant_limits: as of :func:`.tenantlimits.readAll`.
    """
    statuses: dict
    used: dict
    counts: dict
    totals: dict
    tenants_used: dict
    tenant_limits: dict


class ProviderViews:
    """
    :param ZuulWeb zuulweb:
    """

    def __init__(self, zuulweb):
        self.zuulweb = zuulweb
        self._usage = Cache(self._readUsage, LIFETIME)

    def getList(self, tenant_name):
        """
        :return: a list of dicts, one for each provider of the tenant, sorted
            by name.  Numbers of nodes and amounts are those of all tenants
            that share what is limited.
        """
        usage = self._usage.get()
        providers = self.zuulweb.tenant_providers.get(tenant_name) or ()
        return [_describe(each, usage)
                for each in sorted(providers, key=lambda each: each.name)]

    def getLimits(self, tenant_name):
        """
        :return: a list of dicts, one for each resource that is limited for the
            tenant or that nodes of its requests use, sorted by name.
        """
        usage = self._usage.get()
        return [{'resource': resource} | each for resource, each in
                nodeusage.describeTenant(
                    usage.tenants_used.get(tenant_name, {}),
                    usage.tenant_limits.get(tenant_name, {})).items()]

    def _readUsage(self):
        client = self.zuulweb.zk_client.client
        statuses = {}
        for name in zkrecords.getNames(client, providerstatus.ROOT):
            try:
                status = providerstatus.read(client, name)
            except (ValueError, KeyError, TypeError, zlib.error):
                log.exception('Unable to read the status of provider %s:',
                              name)
                continue
            if status:
                statuses[name] = status
        nodes = [nodeusage.toRecord(node)
                 for node in self.zuulweb.nodes_cache.getItems()]
        counts = nodeusage.countNodes(nodes)
        totals = collections.defaultdict(collections.Counter)
        for (provider, _), numbers in counts.items():
            totals[provider].update(numbers)
        return Usage(
            statuses, nodeusage.sumUp(nodes, {
                name: each['section'] for name, each in statuses.items()}),
            dict(counts), dict(totals), nodeusage.sumUpTenants(nodes),
            tenantlimits.readAll(client))


def _describe(provider, usage):
    name = provider.canonical_name
    status = usage.statuses.get(name) or {
        'limits': None, 'pauses': [], 'problem': None}
    now = time.time()
    nothing = dict.fromkeys(nodeusage.COUNTS, 0)
    return {
        'name': provider.name,
        'canonical_name': name,
        'connection': provider.connection_name,
        'problem': status['problem'] and messages.forAllTenants(
            status['problem']),
        'limits': None if status['limits'] is None else [
            _describeLimit(each, usage.used[nodeusage.getAccount(
                provider.connection_name, each), each['resource']])
            for each in status['limits']],
        'pauses': [{
            'label': each['label'],
            'until': each['until'],
            'left': max(0, round(each['until'] - now)),
            'reason': messages.forAllTenants(each['reason']),
            # Other tenants may have other labels there.
        } for each in status['pauses']
            if each['until'] > now
            and each['label'] in (None, *provider.labels)],
        'nodes': nothing | usage.totals.get(name, {}),
        'labels': [
            {'name': config['name']} | nothing
            | usage.counts.get((name, config['name']), {})
            | providerrecords.getMinReady(config, now)
            for config in provider.config['labels']],
    }


def _describeLimit(limit, used):
    return {
        'kind': limit['kind'],
        'name': limit['name'] and getShortName(limit['name']),
        'resource': limit['resource'],
        'limit': limit['limit'],
        'used': used,
        'foreign': limit['foreign'],
        'reserved': limit['reserved'],
        'free': providerstatus.getFree(limit, used),
    }
