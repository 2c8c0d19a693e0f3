"""What a launcher tells statsd as it happens, under the names that Zuul's has.

Nothing here may hurt anything else: what can't be told is logged and left
out.
"""

import contextlib
import logging

from zuul.exceptions import QuotaException
from zuul.lib.statsd import normalize_statsd_name


def makeSafe(name):
    """:return: a name as it can be a part of a metric's."""
    # Braces are where the client would fill something in.
    return normalize_statsd_name(str(name)).translate(
        str.maketrans('/{}', '___'))


def getErrorKey(error):
    """
    :param error: an exception, or a word for its kind.
    :return: what the failure is called, as Nodepool called it.
    """
    if isinstance(error, str):
        return f'error.{makeSafe(error)}'
    if isinstance(error, QuotaException):
        return 'error.quota'
    return getattr(error, 'statsd_key', 'error.unknown')


class Stats:
    """
    :param statsd: a client, or None.
    """

    log = logging.getLogger('zuul.nodes.metrics')

    def __init__(self, statsd):
        self.statsd = statsd

    def reportLaunch(self, node, provider, error=None):
        """Tell how a launch has ended, and how long it took.

        :param ProviderNode node: in the state that it has come to.
        :param BaseProvider provider: that made it, or None.
        :param error: why it failed, if it did: an exception or a word.
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

    def reportHandler(self, duration):
        """Tell how long the work queue was occupied with a key.

        :param float duration: in seconds.
        """
        if self.statsd:
            self.statsd.timing('zuul.launcher.run_handler', duration * 1000)

    def timeUpload(self, upload):
        """:return: a context manager around what a cloud does with an
            upload."""
        if not self.statsd:
            return contextlib.nullcontext()
        image, endpoint = map(
            makeSafe, (upload.canonical_name, upload.endpoint_name))
        return self.statsd.timer(
            f'zuul.image.{image}.upload.{endpoint}.duration')


def _getDuration(node):
    """:return: seconds that the launch took, or None if not known."""
    # Who has taken the node over has no state machine of it yet.
    start_time = (node.create_state_machine.start_time
                  if node.create_state_machine
                  else node.create_state.get('start_time'))
    return None if start_time is None else node.state_time - start_time


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
