"""Finds the endpoints that this launcher handles."""

import logging


class HandledEndpoints:
    """Finds the endpoints that this launcher handles.

    :param Layouts layouts: hold the providers of the endpoints.
    :param Ownership ownership: knows which endpoints this launcher handles.
    """

    log = logging.getLogger('zuul.nodes.providers')

    def __init__(self, layouts, ownership):
        self.layouts = layouts
        self.ownership = ownership

    def get(self):
        """:return: canonical name -> endpoint, of the endpoints that this
            launcher handles."""
        endpoints = {}
        for provider in self.layouts.scope.getPlaces().values():
            if not self.handles(provider.connection_name):
                continue
            try:
                endpoint = provider.getEndpoint()
            except Exception:
                self.log.exception('Unable to get the endpoint of %s:',
                                   provider)
                continue
            endpoints[endpoint.canonical_name] = endpoint
        return endpoints

    def getServed(self):
        """:return: as :meth:`get`, without the endpoints that this launcher
            leaves to others."""
        return {name: endpoint for name, endpoint in self.get().items()
                if not self.leaves(endpoint)}

    def leaves(self, endpoint):
        """:return: whether this launcher leaves an endpoint to others, because
            its cloud refuses this launcher's log-in."""
        return self.ownership.leaves(endpoint)

    def serves(self, provider):
        """:return: whether this launcher calls the cloud of a provider."""
        if not self.handles(provider.connection_name):
            return False
        try:
            return not self.leaves(provider.getEndpoint())
        except Exception:
            # The cause is logged where the endpoint is needed.
            return True

    def handles(self, connection_name):
        """:return: whether this launcher handles the endpoints of a
            connection."""
        return self.ownership.handles(connection_name)

    def isMine(self, endpoint):
        """:return: whether this launcher does the work that only one launcher
            does for an endpoint."""
        return self.ownership.isMyEndpoint(endpoint)
