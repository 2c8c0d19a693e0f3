"""The seams at which zuul-web reports the errors in a tenant's configuration.

Zuul finds errors when it loads the layout.  Any driver may add warnings that
depend on more than that layout.  They appear and disappear without a new one.
"""

import functools
import logging

from zuul_nodes.plugin.views import View

log = logging.getLogger('zuul.nodes.plugin')


def wrapTellErrors(tell, extensions):
    """Wrap a route that reports the errors of a tenant."""
    @functools.wraps(tell)
    def wrapper(self, tenant_name, tenant, auth, **kwargs):
        errors = [*tenant.layout.loading_errors.errors]
        for driver in self.zuulweb.connections.drivers.values():
            if hasattr(driver, 'getConfigurationWarnings'):
                errors += _getWarnings(driver, tenant)
        return tell(self, tenant_name, View(tenant, layout=View(
            tenant.layout, loading_errors=View(
                tenant.layout.loading_errors, errors=errors))),
            auth, **kwargs)
    return wrapper


def _getWarnings(driver, tenant):
    try:
        return list(driver.getConfigurationWarnings(tenant))
    except Exception:
        # Show the errors that Zuul itself has found.
        log.exception("Unable to get the warnings of the driver %s about the "
                      "configuration of the tenant %s:",
                      driver.name, tenant.name)
        return []
