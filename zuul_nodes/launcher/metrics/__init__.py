"""Metrics that a launcher sends to statsd."""

from zuul_nodes.launcher.metrics.gauges import Gauges
from zuul_nodes.launcher.metrics.stats import Stats, makeSafe

__all__ = [
    'Gauges',
    'Stats',
    'makeSafe',
]
