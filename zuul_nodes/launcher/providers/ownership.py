"""Decides which launcher handles which object.

All launchers compute the same result without communication: of the running
launchers that handle the connection, the one with the lowest of Zuul's scores
for the record.  When a launcher starts or stops, only its share is
redistributed.
"""

from zuul.launcher.server import endpoint_score, scores_for_label
from zuul.zk import launcher as records

from zuul_nodes.launcher.zookeeper import getVersion


class Ownership:
    """Decides which launcher handles which object.

    :param ComponentRegistry registry: has the running launchers.
    :param LauncherComponent component: this launcher.
    """

    def __init__(self, registry, component):
        self.registry = registry
        self.component = component
        self._seen = None
        self._noted = None

    def hasChanged(self):
        """:return: whether the set of launchers has changed since the last
            :meth:`note`, or one of them has been away."""
        # A launcher with a new session has a new path.  While it was away,
        # others may have treated its share as unowned.
        self._seen = {
            (launcher.path, getVersion(launcher))
            for launcher in list(self.registry.all('launcher'))}
        return self._seen != self._noted

    def note(self):
        """Note that the change seen by :meth:`hasChanged` has been processed.
        """
        self._noted = self._seen

    def getLaunchers(self, connection_name=None):
        """:return: the names of the running launchers that handle the
            connection; of all if None."""
        return [
            launcher.hostname for launcher in
            list(self.registry.all('launcher'))
            if launcher.state == launcher.RUNNING and (
                connection_name is None or not launcher.connection_filter
                or connection_name in launcher.connection_filter)]

    def isHandled(self, connection_name):
        """:return: whether a running launcher handles the connection."""
        return bool(self.getLaunchers(connection_name))

    def hasSubstitute(self):
        """:return: whether another running launcher handles all connections of
            this one."""
        own = self.component.connection_filter
        return any(
            launcher.state == launcher.RUNNING
            and launcher.hostname != self.component.hostname
            and (not launcher.connection_filter
                 or (own and set(own).issubset(launcher.connection_filter)))
            for launcher in list(self.registry.all('launcher')))

    def handles(self, connection_name):
        """:return: whether this launcher handles the connection."""
        own = self.component.connection_filter
        return not own or connection_name in own

    def getRequestOwner(self, request):
        """:return: the name of the running launcher that serves a request if
            each serves its share, as Zuul's do; None if none runs."""
        return min(self.getLaunchers(), default=None,
                   key=lambda name: records.launcher_score(name, request))

    def getLabelOwner(self, canonical_name):
        """:return: the same for the min-ready nodes of a label."""
        scores = scores_for_label(canonical_name, self.getLaunchers())
        return scores[min(scores)] if scores else None

    def isMyNode(self, node):
        return self._isMine(self.getLaunchers(node.connection_name),
                            lambda name: records.launcher_score(name, node))

    def isMyEndpoint(self, endpoint):
        return self._isMine(
            self.getLaunchers(endpoint.connection.connection_name),
            lambda name: endpoint_score(name, endpoint))

    def _isMine(self, launchers, getScore):
        return bool(launchers) and (
            min(launchers, key=getScore) == self.component.hostname)


def describeUnhandled(connections):
    """
    :param connections: names of connections that no launcher handles.
    :return: a message for users.
    """
    return 'no running launcher handles ' + ', '.join(
        f'connection {name}' for name in sorted(connections))
