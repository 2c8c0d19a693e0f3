"""Which launcher looks after what.

All launchers reckon alike, without asking one another: of those that run
and handle the connection, the one with the least score of Zuul's for the
record.  When one of them comes or goes, what was its share is divided
anew; the rest stays where it is.
"""

from zuul.launcher.server import endpoint_score, scores_for_label
from zuul.zk import launcher as records

from zuul_nodes.launcher.zookeeper import getVersion


class Ownership:
    """
    :param ComponentRegistry registry: who there is.
    :param LauncherComponent component: ourselves.
    """

    def __init__(self, registry, component):
        self.registry = registry
        self.component = component
        self._seen = None
        self._noted = None

    def hasChanged(self):
        """:return: whether others share the work than were seen before the
            last :meth:`note`, or the same have not done so all the time."""
        # One that has a new session has another path.  While it was gone,
        # what is its own may have been taken for that of nobody.
        self._seen = {
            (launcher.path, getVersion(launcher))
            for launcher in list(self.registry.all('launcher'))}
        return self._seen != self._noted

    def note(self):
        """What there was to do for the change that was seen is done."""
        self._noted = self._seen

    def getLaunchers(self, connection_name=None):
        """
        :return: the names of those that run, and handle the connection.
        """
        return [
            launcher.hostname for launcher in
            list(self.registry.all('launcher'))
            if launcher.state == launcher.RUNNING and (
                connection_name is None or not launcher.connection_filter
                or connection_name in launcher.connection_filter)]

    def isShared(self):
        """:return: whether other launchers run, too."""
        return len(self.getLaunchers()) > 1

    def isHandled(self, connection_name):
        """:return: whether anybody makes nodes there."""
        return bool(self.getLaunchers(connection_name))

    def handles(self, connection_name):
        """:return: whether we do."""
        own = self.component.connection_filter
        return not own or connection_name in own

    def isMyRequest(self, request):
        return self._isMine(self.getLaunchers(),
                            lambda name: records.launcher_score(name, request))

    def isMyNode(self, node):
        return self._isMine(self.getLaunchers(node.connection_name),
                            lambda name: records.launcher_score(name, node))

    def isMyEndpoint(self, endpoint):
        return self._isMine(
            self.getLaunchers(endpoint.connection.connection_name),
            lambda name: endpoint_score(name, endpoint))

    def isMyLabel(self, canonical_name):
        """For the nodes that are made before anybody asks for them."""
        launchers = self.getLaunchers()
        scores = scores_for_label(canonical_name, launchers)
        return bool(scores) and (
            scores[min(scores)] == self.component.hostname)

    def _isMine(self, launchers, getScore):
        return bool(launchers) and (
            min(launchers, key=getScore) == self.component.hostname)


def describeUnhandled(connections):
    """
    :param connections: names of those that nobody handles.
    :return: that, for people.
    """
    return 'no running launcher handles ' + ', '.join(
        f'connection {name}' for name in sorted(connections))
