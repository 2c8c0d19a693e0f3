"""The endpoints that a launcher looks after."""

import logging


class HandledEndpoints:
    """
    :param Layouts layouts: with the providers that have them.
    :param Ownership ownership: says whose they are.
    """

    log = logging.getLogger('zuul.nodes.providers')

    def __init__(self, layouts, ownership):
        self.layouts = layouts
        self.ownership = ownership

    def get(self):
        """:return: canonical name -> endpoint of each that we handle."""
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

    def handles(self, connection_name):
        """:return: whether we look after the endpoints of a connection."""
        return self.ownership.handles(connection_name)

    def isMine(self, endpoint):
        """:return: whether what is done once for an endpoint is our share."""
        return self.ownership.isMyEndpoint(endpoint)
