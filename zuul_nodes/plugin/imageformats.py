"""The seams at which a job learns in which formats an image is wanted.

Zuul takes the providers as they are, so a change under review that adds an
image builds it in no format, and it breaks the jobs of an image that has
none with some provider.  The driver of the name ``zuul`` knows better.
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
    """To be there before that of ``layouts``, which looks at ``proposed``
    last, and removes it."""
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
                # Those that are in force will do.
                log.exception("Unable to tell the formats of images:")
        return layout
    return wrapper
