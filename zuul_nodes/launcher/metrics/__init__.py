"""Metrics: what a launcher tells statsd."""

from zuul_nodes.launcher.metrics.statsd import Stats, makeSafe

__all__ = [
    'Stats',
    'makeSafe',
]
