"""What a node that does not come up has written to its console.

It is asked for before the node is given up, for then its instance goes.
"""

from zuul.exceptions import LaunchKeyscanException
from zuul.launcher.server import LaunchTimeoutError

from zuul_nodes import messages

# Then, a node does not come up.
REASONS = (LaunchKeyscanException, LaunchTimeoutError)
# So much of it is of use: lines in the log, and characters for people who
# wait for the node.
LINES = 100
LENGTH = 200
# What is longer than that is no line.
MOST = 1000


class ConsoleLogs:
    """
    :param NodeRecords nodes:
    :param Layouts layouts: with their providers.
    :param EndpointPools pools: ask the clouds.
    """

    def __init__(self, nodes, layouts, pools):
        self.nodes = nodes
        self.layouts = layouts
        self.pools = pools
        # Uuid of a node -> the end of its console's log, or None as long
        # as the cloud is asked for it.
        self._tails = {}

    def ask(self, node, error, log):
        """Ask for the log of a node, if its instance does not come up and
        its label says so.  When there is an answer, or none, the node is
        looked at again.

        :param Exception error: why its creation has failed.
        :return: whether that is still to be waited for.
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
            # If a driver gives something else, that is its error.
            return _shorten(provider.getConsoleLog(label, node) or '')

        def end(said, problem):
            self._note(node, said or ('', ''), problem, log)
            self.nodes.look(node.uuid)
        self.pools.submit(
            endpoint, read, end, f'Reading the console of node {node.uuid}')
        return True

    def take(self, node):
        """:return: the end of what was asked for, in one line; empty if
            there is none."""
        return self._tails.pop(node.uuid, None) or ''

    def forget(self, node_id):
        """There is no such node any more."""
        self._tails.pop(node_id, None)

    def _note(self, node, said, problem, log):
        text, self._tails[node.uuid] = said
        if problem is not None:
            log.warning('Unable to read the console of node %s: %s',
                        node, problem)
        elif text:
            log.warning('The console of node %s:\n%s', node,
                        messages.withoutSecrets(text))


def _shorten(text):
    """:return: the end of it, for the log, and in one line."""
    lines = text.rstrip().splitlines()
    return ('\n'.join(lines[-LINES:]),
            # What is cut is no secret any more.
            messages.forTenants(' '.join(
                line[-MOST:] for line in lines[-3:]))[-LENGTH:])

