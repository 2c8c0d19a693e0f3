"""Endpoints that other launchers look after."""

OTHERS = ('others', '')


class OtherEndpoints:
    """
    :param WorkQueue queue: where they are looked at.
    :param Layouts layouts: with the providers at all endpoints.
    :param HandledEndpoints endpoints: that this launcher looks after.
    :param tellLimits: called with a set of the names of providers that can
        make more or less than before.
    :param Settings settings:
    """

    def __init__(self, queue, layouts, endpoints, tellLimits, settings):
        self.queue = queue
        self.layouts = layouts
        self.endpoints = endpoints
        self.tellLimits = tellLimits
        self.interval = settings.others_interval

    def reconcile(self):
        """Plan with what others have asked of clouds that we do not ask."""
        names = {
            name for name, providers in self.layouts.scope.by_name.items()
            if not all(self.endpoints.handles(provider.connection_name)
                       for provider in providers)}
        if names:
            self.tellLimits(names)
            self.queue.addAfter(OTHERS, self.interval)
