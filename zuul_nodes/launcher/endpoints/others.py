"""Endpoints of which only other launchers ask the clouds."""

OTHERS = ('others', '')


class OtherEndpoints:
    """Updates the planner's limits for endpoints of other launchers.

    :param WorkQueue queue: gets a key for the next update.
    :param Layouts layouts: has the providers at all endpoints.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param noteLimits: called with a set of names of providers whose limits
        may have changed.
    :param Settings settings: of the launcher.
    """

    def __init__(self, queue, layouts, endpoints, noteLimits, settings):
        self.queue = queue
        self.layouts = layouts
        self.endpoints = endpoints
        self.noteLimits = noteLimits
        self.interval = settings.others_interval

    def reconcile(self):
        """Update the limits that other launchers have read from clouds."""
        names = {
            name for name, providers in self.layouts.scope.by_name.items()
            if not all(map(self.endpoints.serves, providers))}
        if names:
            self.noteLimits(names)
            self.queue.addAfter(OTHERS, self.interval)
