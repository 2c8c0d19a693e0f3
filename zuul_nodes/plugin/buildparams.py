"""The seam at which drivers tell jobs what they have to know.

The parameters of a build are made in the scheduler, when it is to run, and
in zuul-web, to be looked at.  Any driver may add to the variable ``zuul``.
"""

import functools
import logging

log = logging.getLogger('zuul.nodes.plugin')


def wrapConstructBuildParams(construct, extensions):
    @functools.wraps(construct)
    def wrapper(uuid, connections, job, item, pipeline, *args, **kwargs):
        params = construct(
            uuid, connections, job, item, pipeline, *args, **kwargs)
        for driver in connections.drivers.values():
            if hasattr(driver, 'getJobVariables'):
                _addVariables(params['zuul'], driver, job, item)
        return params
    return wrapper


def _addVariables(zuul_params, driver, job, item):
    try:
        variables = dict(driver.getJobVariables(job, item))
    except Exception:
        # Most jobs will do without.
        log.exception("Unable to get what the driver %s has to tell the job "
                      "%s of %s:", driver.name, job.name, item)
        return
    # What Zuul itself says stays as it is.
    zuul_params.update(
        {name: value for name, value in variables.items()
         if name not in zuul_params})
