"""Decides which launcher handles which object.

All launchers compute the same result without communication: of the running
launchers that handle the connection, the one with the lowest of Zuul's scores
for the record.  When a launcher starts or stops, only its share is
redistributed.

A launcher that has withdrawn from an endpoint, because the cloud refuses its
log-in, leaves its share there to the others.  Launchers of Zuul do not know
that, so only those of zuul-nodes take it over.
"""

import types
import uuid

from zuul.launcher.server import endpoint_score, scores_for_label
from zuul.zk import launcher as records

from zuul_nodes import withdrawals
from zuul_nodes.launcher.zookeeper import getVersion

# Maximum uuids to try for a node of certain launchers.
MOST_DRAWS = 1000


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
        return [launcher.hostname
                for launcher in self._getComponents(connection_name)]

    def _getComponents(self, connection_name=None):
        return [
            launcher for launcher in self._getRunning()
            if connection_name is None or not launcher.connection_filter
            or connection_name in launcher.connection_filter]

    def getZuuls(self):
        """:return: the names of the running launchers of Zuul's own."""
        # The component tells it as soon as the launcher runs, and also while
        # it is no candidate because it has just started or lost its session.
        return [launcher.hostname for launcher in self._getRunning()
                if not withdrawals.isKnown(launcher.content)]

    def _getRunning(self):
        return [launcher for launcher in list(self.registry.all('launcher'))
                if launcher.state == launcher.RUNNING]

    def _getAble(self, connection_name, endpoint_name):
        """:return: the names of the launchers that take over the share of
            one that has withdrawn from an endpoint."""
        return [launcher.hostname
                for launcher in self._getComponents(connection_name)
                if self._hasWithdrawn(launcher, endpoint_name) is False]

    def _hasWithdrawn(self, launcher, endpoint_name):
        """:return: whether a launcher has withdrawn from an endpoint; None if
            it is one that never does."""
        if launcher.hostname == self.component.hostname:
            # The registry learns of this launcher's own changes later.
            launcher = self.component
        return withdrawals.hasWithdrawn(launcher.content, endpoint_name)

    def countSharing(self, connection_name, endpoint_names):
        """
        :param endpoint_names: canonical names of the connection's endpoints.
        :return: number of running launchers that handle the connection and
            have not withdrawn from all of its endpoints.
        """
        return sum(
            not endpoint_names or not all(
                self._hasWithdrawn(launcher, name) for name in endpoint_names)
            for launcher in self._getComponents(connection_name))

    def leaves(self, endpoint):
        """:return: whether this launcher has withdrawn from an endpoint and
            another one takes over its share there."""
        name = endpoint.canonical_name
        return bool(
            self._hasWithdrawn(self.component, name)
            and self._getAble(endpoint.connection.connection_name, name))

    def isHandled(self, connection_name):
        """:return: whether a running launcher handles the connection."""
        return bool(self.getLaunchers(connection_name))

    def hasSubstitute(self):
        """:return: whether another running launcher handles all connections of
            this one."""
        own = self.component.connection_filter
        return any(
            launcher.hostname != self.component.hostname
            and (not launcher.connection_filter
                 or (own and set(own).issubset(launcher.connection_filter)))
            for launcher in self._getRunning())

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
        return self.getNodeOwner(node) == self.component.hostname

    def getNodeOwner(self, node):
        """:return: the name of the launcher that creates and deletes a node;
            None if none runs."""
        return self._getOwner(
            node.connection_name, withdrawals.getEndpointName(node),
            lambda name: records.launcher_score(name, node))

    def isMyEndpoint(self, endpoint):
        return self.component.hostname == self._getOwner(
            endpoint.connection.connection_name, endpoint.canonical_name,
            lambda name: endpoint_score(name, endpoint))

    def _getOwner(self, connection_name, endpoint_name, getScore):
        launchers = self._getComponents(connection_name)
        if not launchers:
            return None
        owner = min(launchers, key=lambda each: getScore(each.hostname))
        able = (self._getAble(connection_name, endpoint_name)
                if self._hasWithdrawn(owner, endpoint_name) else [])
        return min(able, key=getScore, default=owner.hostname)

    def countUntried(self, node, failed):
        """
        :param failed: names of the launchers that have failed.
        :return: number of other launchers that could create a node in its
            place.
        """
        return len(self._getOwners(node).difference(failed))

    def makeNodeId(self, provider, failed):
        """Make the uuid of a new node, so that a launcher creates it that has
        failed least.

        :param failed: name of a launcher -> number of its failed attempts.
        :return: a uuid; any if all launchers have failed equally, or if none
            is found for one of the others.
        """
        node = types.SimpleNamespace(uuid=uuid.uuid4().hex)
        if failed:
            node.connection_name = provider.connection_name
            node.endpoint_name = provider.getEndpoint().name
            owners = self._getOwners(node)
            least = min((failed.get(name, 0) for name in owners), default=0)
            best = {name for name in owners if failed.get(name, 0) == least}
            for _ in range(MOST_DRAWS if best < owners else 0):
                if self.getNodeOwner(node) in best:
                    break
                node.uuid = uuid.uuid4().hex
        return node.uuid

    def _getOwners(self, node):
        """:return: a set of the names of the launchers that a node may be
            created by, depending on its uuid."""
        place = withdrawals.getEndpointName(node)
        are_able = self._getAble(node.connection_name, place)
        return {launcher.hostname
                for launcher in self._getComponents(node.connection_name)
                if not (are_able and self._hasWithdrawn(launcher, place))}


def describeUnhandled(connections):
    """
    :param connections: names of connections that no launcher handles.
    :return: a message for users.
    """
    return 'no running launcher handles ' + ', '.join(
        f'connection {name}' for name in sorted(connections))
