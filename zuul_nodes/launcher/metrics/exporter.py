"""Metrics for Prometheus, from what launchers report to statsd.

Zuul's monitoring server answers with all metrics of its process: that of the
scheduler has those of its launcher, too.
"""

import contextlib
import dataclasses
import threading
import time
import typing

import prometheus_client
from zuul.lib.statsd import normalize_statsd_name

from zuul_nodes.launcher.metrics.names import METRICS, Metric, find

# Seconds: of calls to clouds, launches and uploads.
BUCKETS = (0.05, 0.2, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 7200)


def makeExporter(config, is_embedded, hostname):
    """
    :param ConfigParser config: zuul.conf
    :param bool is_embedded: whether the launcher is inside a scheduler.
    :param str hostname: of the machine.
    :return: an Exporter, or None if the process has no monitoring server.
    """
    section = 'scheduler' if is_embedded else 'launcher'
    if not config.has_option(section, 'prometheus_port'):
        return None
    return Exporter(hostname)


@dataclasses.dataclass
class Series:
    """
    :ivar values: of the labels.
    :ivar child: where prometheus_client keeps the value.
    :ivar updated: when it was reported last.
    """
    metric: Metric
    values: tuple[str, ...]
    child: typing.Any
    updated: float


class Exporter:
    """A collector of prometheus_client.

    :param hostname: value of the label of that name.
    :param clock: returns seconds.
    """

    def __init__(self, hostname, clock=time.monotonic):
        self.hostname = normalize_statsd_name(hostname)
        self.clock = clock
        self._registry = prometheus_client.CollectorRegistry()
        self._families = {metric: self._makeFamily(metric)
                          for metric in METRICS}
        self._lock = threading.Lock()
        # Name in statsd and kind -> its series; None if there is no metric.
        self._series = {}

    def start(self):
        prometheus_client.REGISTRY.register(self)

    def stop(self):
        # A launcher may stop before it has started.
        with contextlib.suppress(KeyError):
            prometheus_client.REGISTRY.unregister(self)

    def describe(self):
        """Tell no names, as other launchers of the process have the same."""
        return ()

    def collect(self):
        with self._lock:
            self._expire()
        return self._registry.collect()

    def report(self, kind, name, value):
        """Take a value of a metric.

        :param str kind: "gauge", "counter" or "timer".
        :param str name: its name in statsd, with a placeholder for the name
            of the launcher's machine.
        :param value: of a gauge, increase of a counter, or milliseconds.
        """
        name = name.replace('{hostname}', self.hostname)
        with self._lock:
            series = self._getSeries(name, kind)
            if series is None:
                return
            series.updated = self.clock()
            if kind == 'gauge':
                series.child.set(value)
            elif kind == 'counter':
                series.child.inc(value)
            else:
                series.child.observe(value / 1000)

    def _makeFamily(self, metric):
        arguments = (metric.prometheus_name, f'{metric.name} in statsd',
                     metric.labels)
        if metric.kind == 'timer':
            return prometheus_client.Histogram(
                *arguments, registry=self._registry, buckets=BUCKETS)
        family = {'gauge': prometheus_client.Gauge,
                  'counter': prometheus_client.Counter}[metric.kind]
        return family(*arguments, registry=self._registry)

    def _getSeries(self, name, kind):
        key = name, kind
        if key not in self._series:
            found = find(name, kind)
            if found:
                metric, values = found
                family = self._families[metric]
                found = Series(metric, values, family.labels(*values)
                               if values else family, 0)
            self._series[key] = found
        return self._series[key]

    def _expire(self):
        now = self.clock()
        for key, series in list(self._series.items()):
            if (series and series.metric.lifetime is not None
                    and now - series.updated > series.metric.lifetime):
                self._families[series.metric].remove(*series.values)
                del self._series[key]


class Client:
    """Stands in for a statsd client, and passes all on to an exporter.

    :param statsd: a client or its pipeline, or None.
    """

    def __init__(self, statsd, exporter):
        self.statsd = statsd
        self.exporter = exporter

    def gauge(self, name, value):
        if self.statsd:
            self.statsd.gauge(name, value)
        self.exporter.report('gauge', name, value)

    def incr(self, name, count=1):
        if self.statsd:
            self.statsd.incr(name, count)
        self.exporter.report('counter', name, count)

    def timing(self, name, milliseconds):
        if self.statsd:
            self.statsd.timing(name, milliseconds)
        self.exporter.report('timer', name, milliseconds)

    @contextlib.contextmanager
    def timer(self, name):
        begin = time.monotonic()
        try:
            yield
        finally:
            self.timing(name, (time.monotonic() - begin) * 1000)

    @contextlib.contextmanager
    def pipeline(self):
        if self.statsd:
            with self.statsd.pipeline() as pipeline:
                yield Client(pipeline, self.exporter)
        else:
            yield self
