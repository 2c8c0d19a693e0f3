"""The seams at which zuul-web tells of errors in a tenant's configuration.

Zuul finds them as it loads the layout.  Any driver may add warnings about what
does not depend on that layout alone, which appear and go without a new one.
"""

import functools
import logging

from zuul_nodes.plugin.views import View

log = logging.getLogger('zuul.nodes.plugin')


def wrapTellErrors(tell, extensions):
    """For a route that tells of the errors of a tenant."""
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
        # Users see what Zuul itself has found.
        log.exception("Unable to get the warnings of the driver %s about the "
                      "configuration of the tenant %s:",
                      driver.name, tenant.name)
        return []
