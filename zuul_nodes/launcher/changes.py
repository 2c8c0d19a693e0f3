"""What there is to look at when layouts change, or launchers come and go."""

import logging

from zuul_nodes.launcher.endpoints import OTHERS
from zuul_nodes.launcher.images import KEY as IMAGES
from zuul_nodes.launcher.planner import RESERVATIONS
from zuul_nodes.launcher.workers import getPause

LAYOUT = ('layout', '')
DIVISION = ('division', '')


class Rescan:
    """
    :param WorkQueue queue: where all is looked at.
    :param Records records: of all nodes and requests.
    :param HandledEndpoints endpoints: that are looked after.
    :param MinReadyState min_ready: is told to count nodes.
    """

    def __init__(self, queue, records, endpoints, min_ready):
        self.queue = queue
        self.records = records
        self.endpoints = endpoints
        self.min_ready = min_ready

    def begin(self):
        """Look at all requests, nodes and endpoints."""
        for request in self.records.requests_cache.getItems():
            self.queue.add(('request', request.uuid))
        for node in self.records.nodes_cache.getItems():
            self.queue.add(('node', node.uuid))
        for name in self.endpoints.get():
            self.queue.add(('endpoint', name))
        self.queue.add(OTHERS)
        self.min_ready.tell()


class OwnershipChanges:
    """
    :param Ownership ownership: knows who there is.
    :param WorkQueue queue: where changes are looked at.
    :param Planner planner: plans for the share of this launcher.
    :param Rescan rescan: of all that is there.
    """

    def __init__(self, ownership, queue, planner, rescan):
        self.ownership = ownership
        self.queue = queue
        self.planner = planner
        self.rescan = rescan

    def tell(self):
        """A component of Zuul has come, changed or gone."""
        self.queue.add(DIVISION)

    def reconcile(self):
        """Launchers come and go, and leave what is ours now."""
        if not self.ownership.hasChanged():
            # It was a component of another kind.
            return
        self.planner.limitsChanged()
        self.rescan.begin()
        self.queue.add(RESERVATIONS)
        self.ownership.note()


class LayoutChanges:
    """
    :param Layouts layouts: are read.
    :param FormerProviders former_providers: remember where there were some.
    :param WorkQueue queue: where changes are looked at.
    :param Rescan rescan: of all that is there.
    :param LauncherComponent component: of this launcher; it runs as soon as
        there are layouts.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.launcher')

    def __init__(self, layouts, former_providers, queue, rescan, component,
                 settings):
        self.layouts = layouts
        self.former_providers = former_providers
        self.queue = queue
        self.rescan = rescan
        self.component = component
        self.settings = settings
        # Whether others know that we work.
        self._is_running = False

    def reconcile(self):
        """Read the layouts that have changed."""
        tenants = self.layouts.update()
        if tenants:
            self.log.info('Layouts of %s are read', ', '.join(sorted(tenants)))
        if self.layouts.states and not self._is_running:
            self.component.state = self.component.RUNNING
            # The component says so before it is written.
            self._is_running = True
        if self.layouts.put_off:
            self.layouts.put_off = False
            self.queue.add(IMAGES)
            for name in self.layouts.scope.by_name:
                self.queue.add(('static', name))
            self.rescan.begin()
        if self.layouts.scope.unread:
            # Whoever has the lock of a tenant may have it for long.  In most
            # cases, a scheduler is about to be done with it.
            self.queue.addAfter(LAYOUT, getPause(
                self.layouts.attempts,
                first=self.settings.layout_first_pause,
                longest=self.settings.layout_longest_pause))
        self.former_providers.keep(self.layouts.scope)
