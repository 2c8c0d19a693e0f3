"""The seam at which drivers learn that they run in zuul-web.

In a scheduler, Zuul calls ``registerScheduler`` of each driver.  In zuul-web,
this seam calls ``registerWeb`` of each driver that has it, with the
:class:`ZuulWeb` and the routes of its API, to which the driver may add.
"""

import functools


def wrapGenerateRouteMap(generate, extensions):
    @functools.wraps(generate)
    def wrapper(api, oidc, include_auth):
        # Zuul adds a last route, of the web UI, that any path fits.
        route_map = generate(api, oidc, include_auth)
        for driver in api.zuulweb.connections.drivers.values():
            if hasattr(driver, 'registerWeb'):
                driver.registerWeb(api.zuulweb, route_map)
        return route_map
    return staticmethod(wrapper)
