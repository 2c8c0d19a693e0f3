"""Counters and timers that a launcher sends to statsd, with Zuul's names.

Metrics must not disturb anything else, so errors are logged and the metric is
left out.
"""

import contextlib
import logging
import time

from zuul.exceptions import QuotaException
from zuul.lib.statsd import normalize_statsd_name

# Attribute of a driver's state machine: when the instance was complete.
COMPLETED = 'zuul_nodes_completed'


def makeSafe(name):
    """:return: a name that can be a component of a metric's name."""
    # The statsd client replaces names in braces.
    return normalize_statsd_name(str(name)).translate(
        str.maketrans('/{}', '___'))


def getErrorKey(error):
    """Name the kind of a launch failure, as Nodepool did.

    :param error: an exception, or a word for its kind.
    :return: the last components of a metric's name.
    """
    if isinstance(error, str):
        return f'error.{makeSafe(error)}'
    if isinstance(error, QuotaException):
        return 'error.quota'
    return getattr(error, 'statsd_key', 'error.unknown')


class Stats:
    """Reports events to statsd.

    :param statsd: a client, or None.
    """

    log = logging.getLogger('zuul.nodes.metrics')

    def __init__(self, statsd):
        self.statsd = statsd

    def reportLaunch(self, node, provider, error=None):
        """Report the result and the duration of a launch.

        :param ProviderNode node: in the state that the launch has led to.
        :param BaseProvider provider: that launched it, or None.
        :param error: the cause of a failure, an exception or a word, or None.
        """
        if not self.statsd:
            return
        try:
            results = [f'{node.state}']
            if error is not None:
                results.append(getErrorKey(error))
            duration = _getDuration(node)
            for key in _getLaunchKeys(node, provider):
                for result in results:
                    self.statsd.incr(f'{key}.{result}')
                    if duration is not None:
                        self.statsd.timing(f'{key}.{result}', duration * 1000)
        except Exception:
            self.log.exception('Unable to report the launch of %s:', node)

    def reportPhases(self, node, request):
        """Report how long each phase of a launch took that has succeeded.

        :param ProviderNode node: that has become ready.
        :param NodesetRequest request: that it was launched for, or None.
        """
        if not self.statsd:
            return
        try:
            key = (f'zuul.provider.{makeSafe(node.provider)}.label.'
                   f'{makeSafe(node.label)}.phase')
            for phase, seconds in _getPhases(node, request):
                self.statsd.timing(f'{key}.{phase}', max(seconds, 0) * 1000)
        except Exception:
            self.log.exception('Unable to report the phases of %s:', node)

    def reportDeletion(self, node, result):
        """Count a node whose record is removed.

        :param str result: "deleted", or "left" if the cloud may still have it.
        """
        if self.statsd:
            self.statsd.incr(f'zuul.provider.{makeSafe(node.provider)}'
                             f'.nodes.delete.{result}')

    def reportRequest(self, request):
        """Report the end of a request, and how long it took.

        :param NodesetRequest request: in its final state.
        """
        if not self.statsd:
            return
        try:
            key = (f'zuul.nodeset_requests.end.'
                   f'{makeSafe(request.tenant_name)}.{request.state}')
            self.statsd.incr(key)
            self.statsd.timing(
                key, max(time.time() - request.request_time, 0) * 1000)
        except Exception:
            self.log.exception('Unable to report the end of %s:', request)

    def reportHandler(self, duration):
        """Report the time that a worker has spent on a key.

        :param float duration: in seconds.
        """
        if self.statsd:
            self.statsd.timing('zuul.launcher.run_handler', duration * 1000)

    def timeUpload(self, upload):
        """:return: a context manager that reports the duration of an
            upload."""
        if not self.statsd:
            return contextlib.nullcontext()
        image, endpoint = map(
            makeSafe, (upload.canonical_name, upload.endpoint_name))
        return self.statsd.timer(
            f'zuul.image.{image}.upload.{endpoint}.duration')


def _getDuration(node):
    """:return: duration of the launch in seconds, or None if not known."""
    # A launcher that takes a node over has no state machine for it yet.
    start_time = (node.create_state_machine.start_time
                  if node.create_state_machine
                  else node.create_state.get('start_time'))
    return None if start_time is None else node.state_time - start_time


def _getPhases(node, request):
    """:return: yields phase and seconds, of what this launcher has seen."""
    machine = node.create_state_machine
    if machine is None or machine.start_time is None:
        return
    if request is not None:
        yield 'waiting', machine.start_time - request.request_time
    if completed := getattr(machine, COMPLETED, None):
        yield 'creating', completed - machine.start_time
        yield 'scanning', node.state_time - completed


def _getLaunchKeys(node, provider):
    yield 'zuul.nodes.launch'
    if provider is None:
        return
    key = f'zuul.provider.{makeSafe(provider.canonical_name)}'
    yield f'{key}.nodes.launch'
    if node.az:
        yield f'{key}.az.{makeSafe(node.az)}.launch'
    if label := provider.labels.get(node.label):
        yield f'{key}.label.{makeSafe(label.name)}.launch'
        if image := provider.images.get(label.image):
            yield f'{key}.image.{makeSafe(image.name)}.launch'
