"""Reads the console log of a node whose launch fails.

The launcher reads the log before it gives up the node, because the instance is
deleted afterwards.
"""

from zuul.exceptions import LaunchKeyscanException
from zuul.launcher.server import LaunchTimeoutError

from zuul_nodes import messages

# Errors of an instance that does not boot.
REASONS = (LaunchKeyscanException, LaunchTimeoutError)
# Number of lines in the launcher's log, and number of characters in the
# message for the users of the node.
LINES = 100
LENGTH = 200
# Longer lines are cut.
MOST = 1000


class ConsoleLogs:
    """Reads the console logs of nodes whose launch fails.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the providers of the nodes.
    :param EndpointPools pools: run the calls to the clouds.
    """

    def __init__(self, nodes, layouts, pools):
        self.nodes = nodes
        self.layouts = layouts
        self.pools = pools
        # Uuid of a node -> the end of its console log; None while the cloud
        # reads it.
        self._tails = {}

    def ask(self, node, error, log):
        """Read the console log of a node whose instance does not boot, if the
        node's label asks for the log.

        The node is queued again when the cloud has answered or failed.

        :param Exception error: why the launch has failed.
        :return: whether the log is still being read.
        """
        if node.uuid in self._tails:
            return self._tails[node.uuid] is None
        provider = self.layouts.scope.findProvider(node)
        label = provider and provider.labels.get(node.label)
        if not (isinstance(error, REASONS)
                and getattr(label, 'console_log', False)):
            return False
        endpoint = provider.getEndpoint()
        self._tails[node.uuid] = None

        def read():
            # In the pool's thread, so that an error in the driver's answer
            # counts as a failure of the call.
            return _shorten(provider.getConsoleLog(label, node) or '')

        def end(tail, problem):
            self._note(node, tail or ('', ''), problem, log)
            self.nodes.look(node.uuid)
        self.pools.submit(
            endpoint, read, end, f'Reading the console of node {node.uuid}')
        return True

    def take(self, node):
        """:return: the end of the console log in one line; empty if there is
            none."""
        return self._tails.pop(node.uuid, None) or ''

    def forget(self, node_id):
        """Forget a node that is deleted."""
        self._tails.pop(node_id, None)

    def _note(self, node, tail, problem, log):
        text, self._tails[node.uuid] = tail
        if problem is not None:
            log.warning('Unable to read the console of node %s: %s',
                        node, problem)
        elif text:
            log.warning('The console of node %s:\n%s', node,
                        messages.withoutSecrets(text))


def _shorten(text):
    """:return: the end of the text: its last lines for the log, and one line
        for users."""
    lines = text.rstrip().splitlines()
    return ('\n'.join(lines[-LINES:]),
            # Hide secrets before the text is cut: the rest of a secret would
            # not be recognized.
            messages.forTenants(' '.join(
                line[-MOST:] for line in lines[-3:]))[-LENGTH:])

