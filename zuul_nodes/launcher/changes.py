"""Reactions to new layouts and to launchers that start or stop."""

import logging

from zuul_nodes.launcher.endpoints import OTHERS, STATUSES
from zuul_nodes.launcher.images import KEY as IMAGES
from zuul_nodes.launcher.workers import Backoff

LAYOUT = ('layout', '')
OWNERSHIP = ('ownership', '')


class Rescan:
    """Reconciles every object after a change that may affect all of them.

    :param WorkQueue queue: gets the keys of the objects.
    :param Records records: of all nodes and requests.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param MinReadyState min_ready: recounts the min-ready nodes.
    :param shareRates: called with the endpoints, to share the rates of their
        connections with the other launchers.
    """

    def __init__(self, queue, records, endpoints, min_ready, shareRates):
        self.queue = queue
        self.records = records
        self.endpoints = endpoints
        self.min_ready = min_ready
        self.shareRates = shareRates

    def begin(self):
        """Queue all requests, nodes, endpoints and providers."""
        for request in self.records.requests_cache.getItems():
            self.queue.add(('request', request.uuid))
        for node in self.records.nodes_cache.getItems():
            self.queue.add(('node', node.uuid))
        endpoints = self.endpoints.get()
        self.shareRates(endpoints.values())
        for name in endpoints:
            self.queue.add(('endpoint', name))
        self.queue.add(OTHERS)
        self.queue.add(STATUSES)
        self.min_ready.queueCheck()


class OwnershipChanges:
    """Takes over the objects that this launcher owns after a change.

    :param Ownership ownership: tells which launcher owns an object.
    :param WorkQueue queue: gets the key of a change.
    :param Planner planner: is told which launchers there are.
    :param Rescan rescan: of all objects.
    """

    def __init__(self, ownership, queue, planner, rescan):
        self.ownership = ownership
        self.queue = queue
        self.planner = planner
        self.rescan = rescan

    def noteComponents(self):
        """Queue a check after a change of the components of Zuul."""
        self.queue.add(OWNERSHIP)

    def reconcile(self):
        """Take over objects if launchers have started or stopped."""
        if not self.ownership.hasChanged():
            # A component of another kind has changed.
            return
        self.planner.limitsChanged()
        self.rescan.begin()
        self.ownership.note()


class LayoutChanges:
    """Reads changed layouts, and reconciles the objects that they affect.

    :param Layouts layouts: of all tenants.
    :param FormerProviders former_providers: remembers removed providers.
    :param WorkQueue queue: gets the keys of affected objects.
    :param Rescan rescan: of all objects.
    :param LauncherComponent component: of this launcher; its state becomes
        RUNNING when the first layout is read.
    :param Election election: this launcher becomes a candidate then.
    :param Settings settings: of the launcher.
    """

    log = logging.getLogger('zuul.nodes.launcher')

    def __init__(self, layouts, former_providers, queue, rescan, component,
                 election, settings):
        self.layouts = layouts
        self.former_providers = former_providers
        self.queue = queue
        self.rescan = rescan
        self.component = component
        self.election = election
        self.backoff = Backoff(settings.layout_first_backoff,
                               settings.layout_longest_backoff)
        # Whether the component's state says that this launcher works.
        self._is_running = False

    def reconcile(self):
        """Read the layouts that have changed."""
        tenants = self.layouts.update()
        if tenants:
            self.log.info('Read layouts of %s', ', '.join(sorted(tenants)))
        if self.layouts.states and not self._is_running:
            self.election.enter()
            self.component.state = self.component.RUNNING
            # If the assignment above raises, the next round repeats it.
            self._is_running = True
        if self.layouts.put_off:
            self.layouts.put_off = False
            self.queue.add(IMAGES)
            for name in self.layouts.scope.by_name:
                self.queue.add(('static', name))
            self.rescan.begin()
        if self.layouts.scope.unread:
            # A scheduler has the lock of a tenant, usually for a moment,
            # sometimes for long.
            self.queue.addAfter(LAYOUT, self.backoff.noteFailure(LAYOUT))
        else:
            self.backoff.clear(LAYOUT)
        self.former_providers.keep(self.layouts.scope)
