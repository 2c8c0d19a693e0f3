"""The seam at which drivers learn that they run in zuul-web.

In a scheduler, Zuul calls ``registerScheduler`` of each driver.  In zuul-web,
this seam calls ``registerWeb`` of each driver that has it, with the
:class:`ZuulWeb`.
"""

import functools


def wrapStart(start, extensions):
    @functools.wraps(start)
    def wrapper(self):
        for driver in self.connections.drivers.values():
            if hasattr(driver, 'registerWeb'):
                driver.registerWeb(self)
        start(self)
    return wrapper
