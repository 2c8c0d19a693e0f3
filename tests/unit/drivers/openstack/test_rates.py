"""The rate holds for the connection, for each service."""

import collections

from zuul_nodes.drivers.framework.rates import ConnectionRateLimiter


def test_all_calls_of_the_client_are_at_the_rate_of_the_connection(
        nodes, cloud, monkeypatch):
    begun = collections.Counter()
    enter = ConnectionRateLimiter.__enter__

    def count(limiter):
        begun[limiter] += 1
        return enter(limiter)
    monkeypatch.setattr(ConnectionRateLimiter, '__enter__', count)
    region = nodes.endpoint
    region.refreshQuotaLimits(True)
    list(region.listInstances())
    limiters = nodes.connection.rate_limiters
    assert {'compute', 'network', 'block-storage'} <= limiters.keys()
    assert begun[limiters['compute']] > begun[limiters['network']] > 0
    assert all(limiter.delta == 0.001 for limiter in limiters.values())
    # Another region of the connection has the same ones.
    other = type(region)(nodes.driver, nodes.provider.zk_client,
                         nodes.connection, nodes.endpoint.region, 'system')
    before = begun.copy()
    known = dict(limiters)
    other.start()
    other.refreshQuotaLimits(True)
    other.stop()
    assert limiters == known
    assert begun[limiters['compute']] > before[limiters['compute']]
