"""Metrics of a launcher, for statsd and Prometheus."""

from zuul_nodes.launcher.metrics.exporter import Client, makeExporter
from zuul_nodes.launcher.metrics.gauges import Gauges
from zuul_nodes.launcher.metrics.stats import COMPLETED, Stats, makeSafe

__all__ = [
    'COMPLETED',
    'Client',
    'Gauges',
    'Stats',
    'makeExporter',
    'makeSafe',
]
