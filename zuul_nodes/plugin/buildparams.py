"""The seam at which drivers add variables to jobs.

The scheduler computes the parameters of a build to run it, and zuul-web to
show them.  Any driver may add to the variable ``zuul``.
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
        # Most jobs do not need the variables.
        log.exception("Unable to get the variables of the driver %s for the "
                      "job %s of %s:", driver.name, job.name, item)
        return
    # Zuul's own variables take precedence.
    zuul_params.update(
        {name: value for name, value in variables.items()
         if name not in zuul_params})
