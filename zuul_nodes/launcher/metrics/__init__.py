"""Metrics of a launcher, for statsd and Prometheus."""

from zuul_nodes.launcher.metrics.exporter import Client, makeExporter
from zuul_nodes.launcher.metrics.gauges import Gauges
from zuul_nodes.launcher.metrics.stats import Stats, makeSafe

__all__ = [
    'Client',
    'Gauges',
    'Stats',
    'makeExporter',
    'makeSafe',
]
