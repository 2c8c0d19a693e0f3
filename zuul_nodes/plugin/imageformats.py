"""The seams at which a job learns the formats that an image needs.

Zuul takes the formats from the providers in force.  A change under review that
adds an image would therefore build it in no format, and jobs of an image
without a provider would fail.  The driver named ``zuul`` computes the formats
of the layout that the job belongs to.
"""

import functools
import logging

log = logging.getLogger('zuul.nodes.plugin')


def wrapGetImageFormats(get, extensions):
    @functools.wraps(get)
    def wrapper(self, job, item):
        driver = self.sched.connections.drivers.get('zuul')
        if not hasattr(driver, 'getImageFormats'):
            return get(self, job, item)
        return driver.getImageFormats(job, item)
    return wrapper


def wrapCreateDynamicLayout(create, extensions):
    """Wrap before the seam of ``layouts``, which removes ``proposed`` when it
    has used it."""
    @functools.wraps(create)
    def wrapper(self, item, files, additional_project_branches,
                ansible_manager, include_config_projects=False):
        layout = create(self, item, files, additional_project_branches,
                        ansible_manager, include_config_projects)
        proposed = getattr(layout, 'proposed', None)
        driver = self.connections.drivers.get('zuul')
        if proposed is not None and hasattr(driver, 'keepImageFormats'):
            try:
                driver.keepImageFormats(layout, proposed)
            except Exception:
                # The formats in force stay.
                log.exception("Unable to compute the formats of images:")
        return layout
    return wrapper
